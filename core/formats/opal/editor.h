// How Opal's sessions of JSON lines are changed (opal/FORMAT.md B, C): a new file, with every other line unchanged,
// replaces the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/log/log_index.h"
#include "core/write/commit.h"

namespace arborfs::opal {

// Replaces messages of a path, as a compaction of Opal does (opal/FORMAT.md C5). Pure functions over an index that must
// not change meanwhile.

/// A line of a log that its new file lacks, or has with another parent.
struct LineEdit {
  enum class What : std::uint8_t {
    removed,
    removed_if_dead,  // of several lines with one id, if the last one is removed
    relinked,
  };
  What what = What::removed;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// Messages of the path to the leaf that follow each other, from `first` to `last`.
struct Run {
  Ordinal first = kNoEntry;
  Ordinal last = kNoEntry;
};
/// Each is spelled as users name entries. Errors: not_found; invalid_argument if they are not on the path to the leaf,
/// or `last` is before `first`.
Result<Run> find_run(const LogIndex& index, const std::string& first, const std::string& last);

struct SegmentChange {
  std::vector<LineEdit> edits;       // in the order of the log
  std::vector<std::string> removed;  // ids
  std::string parent;                // of the first new message; "" for a root
  bool moves_leaf = false;           // it was removed
};
/// The first new message takes the parent of the first removed one, the children of the last removed one become those
/// of the last new one. Other children of removed messages keep a parent that no longer exists.
SegmentChange replace_segment(const LogIndex& index, const Run& run);

/// The changes of a new file relative to the log.
struct LogPlan final : Plan {
  Result<void> start(const Session::Guard& now) override;
  /// Adds messages as a path that begins after `parent`, "" for a root. Returns the last one's id, or `parent`.
  std::string add(const std::vector<std::string>& ids, const std::vector<std::string>& members, std::string parent);
  void move_leaf(std::string to);

  std::shared_ptr<const LogSource> log;
  FileStat stat;                    // of the log
  const LogIndex* index = nullptr;  // of the log
  std::string header;
  std::string header_before;
  std::uint64_t header_end = 0;
  std::string leaf;  // id, "" for none
  bool is_moved = false;
  std::vector<LineEdit> edits;       // of other lines than the header, in the order of the log
  std::vector<std::string> removed;  // ids
  std::string new_parent;            // of relinked lines, "" for none
  bool puts_back = false;            // the lines were erased before
};

/// Without a lock, as Opal takes none. The log is locked while it is replaced (hold_log).
class Editor final : public arborfs::Editor {
 public:
  /// `catalog` outlives it.
  Editor(Catalog& catalog, bool syncs) : catalog_(catalog), syncs_(syncs) {}

  [[nodiscard]] Result<void> check(const Session::Guard& now) const override;
  [[nodiscard]] Result<std::unique_ptr<Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& session, const Held& held, Plan& plan) override;
  Result<void> sync(const Session& session) override;

 private:
  Result<void> replace_log(const SessionPtr& session, LogPlan& plan);
  Catalog& catalog_;
  const bool syncs_;
};

/// The log as it was read, held until the file is closed: another arborfs process that replaces or removes it at the
/// same moment finds it held, or finds another log. Opal itself takes no lock. Errors: stale if the log is held, or has
/// changed since it was read.
Result<File> hold_log(const Dir& folder, const std::string& name, const FileStat& as_read);

}  // namespace arborfs::opal
