// How Opal's sessions of JSON lines are changed (opal/FORMAT.md B, C): a new file, with every other line unchanged,
// replaces the log.
#pragma once

#include <string>
#include <vector>

#include "core/formats/opal/write/segment.h"
#include "core/writer/commit.h"

namespace arborfs::opal {

/// The changes of a new file relative to the log.
struct Plan final : arborfs::Plan {
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

class Editor final : public arborfs::Editor {
 public:
  /// `catalog` outlives it.
  Editor(Catalog& catalog, bool syncs) : catalog_(catalog), syncs_(syncs) {}

  [[nodiscard]] Result<void> check(const Session::Guard& now) const override;
  /// None: Opal takes none. The log is locked while it is replaced (hold_log).
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, Wait wait) override;
  [[nodiscard]] Result<std::unique_ptr<arborfs::Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& session, const Held& held, arborfs::Plan& plan) override;
  Result<void> sync(const Session& session) override;

 private:
  Result<void> replace_log(const SessionPtr& session, const Plan& plan);
  Catalog& catalog_;
  const bool syncs_;
};

}  // namespace arborfs::opal
