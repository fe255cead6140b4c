// Writes to Opal's sessions of JSON lines: appends, moves of the leaf, titles (opal/FORMAT.md B, C). Each is a new file
// beside the log, with every other line as it was, that takes the log's place. Changes that arrive for one session at
// the same time share one such file. Threads: any; mutex_ is a leaf and not held over I/O.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/writer/writer.h"

namespace arborfs {

class OpalWriter final : public Writer {
 public:
  /// `catalog` must outlive this object.
  OpalWriter(Catalog& catalog, WriteSettings settings) : Writer(catalog, std::move(settings)) {}

  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force = false) override;
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  /// Changes the log at once, so agents continue there too, and `pin` adds nothing.
  Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target, const std::string& summary = "",
                           bool force = false, bool pin = false) override;
  [[nodiscard]] Result<void> check_branch(const SessionPtr& session, const std::string& target) override;
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force = false,
                                std::string_view source = "user") override;

 private:
  /// What a new file has that the log has not.
  struct Draft {
    const LogIndex* index = nullptr;  // of the log
    std::string header;
    std::string leaf;  // id, "" for none
    bool is_moved = false;
    std::string lines;
  };
  /// Changes the draft; leaves it as it was when it fails. Does no I/O.
  using Change = std::function<Result<void>(Draft&)>;
  struct Waiting {
    Change change;
    bool force = false;
    bool is_done = false;
    Result<void> result;
  };
  struct Line {
    std::vector<Waiting*> waiting;
    bool is_busy = false;
    int users = 0;
    std::condition_variable wake;
  };

  Result<void> check_quiet(const SessionPtr& session, bool force) const;
  Result<void> apply(const SessionPtr& session, Change change, bool force);
  void run(const SessionPtr& session, const std::vector<Waiting*>& batch);
  void note_own_write(const Session& session, const FileStat& before);
  Result<void> rewrite(const SessionPtr& session, const std::vector<Waiting*>& batch);
  Result<void> replace_log(const SessionPtr& session, const LogSource& log, const FileStat& stat,
                           std::uint64_t header_end, const Draft& draft);

  std::mutex mutex_;
  std::map<std::uint32_t, Line> lines_;  // by the session's number; guarded by mutex_
};

}  // namespace arborfs
