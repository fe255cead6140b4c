// Mends what plan_repairs (repairs.h) knows to mend in sessions, and clears away what agents left beside them: never
// where an agent is or may be at work, and never without a copy of what was there before (CONTRACT.md 6.11). One object
// is used by one thread.
#pragma once

#include <string>
#include <vector>

#include "core/doctor/orphan_files.h"
#include "core/writer/writer.h"

namespace arborfs {

struct RepairSettings {
  bool dry_run = false;     // only says what would be done
  bool maybe_live = false;  // also sessions that may be live (CONTRACT.md 5.1); never those that are
  std::string copies;       // folder for copies; "" for $XDG_STATE_HOME/arborfs/repaired
};

struct RepairResult {
  std::vector<std::string> words;  // what was done, one sentence each without a full stop, fit to be shown
  std::string copy;                // of the file as it was, "" when nothing was done to it
};

class Repairer {
 public:
  /// `writer` outlives it.
  Repairer(Writer& writer, RepairSettings settings);
  /// Errors: busy (live), those of plan_repairs, stale, no_space, io; the log is as it was then.
  Result<RepairResult> mend(const SessionPtr& session);
  /// Under the lock of the log that it belongs to. Errors: busy when that is held, not_found when it is gone, no_space,
  /// io.
  Result<RepairResult> mend(const OrphanFile& leftover);

 private:
  Result<std::string> keep_copy(const File& file, const LogPlace& place);
  Result<std::string> keep_copy_of(const Session& session);
  Result<void> rewrite(const SessionPtr& session, RepairResult& mended);
  Result<void> lead_out_of_dead_end(const SessionPtr& session, RepairResult& mended);
  Result<void> clear_away(const Dir& folder, const OrphanFile& leftover, RepairResult& mended);
  Result<void> bring_back(const Dir& folder, const OrphanFile& leftover);
  Result<void> put_away(const Dir& folder, const LogPlace& place, RepairResult& mended);
  [[nodiscard]] Disk& disk() const { return writer_.catalog().store().disk(); }
  Writer& writer_;
  const RepairSettings settings_;
  const std::string copies_;  // a folder of this run's own
};

}  // namespace arborfs
