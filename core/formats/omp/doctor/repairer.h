// Repairs sessions according to plan_repairs (repairs.h), and clears away files that agents left next to them. Never
// changes a session that an agent is using (or, without maybe_live, may be using), and never without a copy of the
// original (CONTRACT.md 6.11). One object is used by one thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/omp/doctor/orphan_files.h"
#include "core/formats/omp/writer/omp_writer.h"

namespace arborfs {

struct RepairSettings {
  bool dry_run = false;     // only reports the repairs
  bool maybe_live = false;  // also repair sessions that may be live (CONTRACT.md 5.1); never live ones
  std::string copies;       // folder for copies; "" for $XDG_STATE_HOME/arborfs/repaired
};

struct RepairResult {
  std::vector<std::string> words;  // the repairs, one sentence each without a full stop, safe to show
  std::string copy;                // of the original file, "" if it was not changed
};

class Repairer {
 public:
  /// `writer` must outlive this object.
  Repairer(OmpWriter& writer, RepairSettings settings);
  /// Errors: busy (live), those of plan_repairs, stale, no_space, io; the log is then as it was.
  Result<RepairResult> mend(const SessionPtr& session);
  /// Holds the lock of the log that the file belongs to. Errors: busy if another process holds it, not_found if the
  /// file is gone, no_space, io.
  Result<RepairResult> mend(const OrphanFile& leftover);
  /// Moves a file or folder that a killed writer left (Finding::leftover) to the copies. Errors: busy if it is in use;
  /// not_found, no_space, io.
  Result<RepairResult> put_away_leftover(const std::string& path);
  /// Copies the session's log to the folder for copies, whatever its format. Returns the path of the copy.
  Result<std::string> keep_copy_of(const Session& session);

 private:
  Result<std::string> keep_copy(const File& file, const LogPlace& place);
  Result<void> rewrite(const SessionPtr& session, RepairResult& mended);
  Result<void> lead_out_of_dead_end(const SessionPtr& session, RepairResult& mended);
  Result<void> clear_away(const Dir& folder, const OrphanFile& leftover, RepairResult& mended);
  static Result<void> bring_back(Disk& disk, const Dir& folder, const OrphanFile& leftover);
  Result<void> put_away(const Dir& folder, const LogPlace& place, RepairResult& mended);
  [[nodiscard]] SessionStore& store_of(const LogPlace& place) const;
  [[nodiscard]] std::string copies_of(const LogPlace& place) const;
  OmpWriter& writer_;
  const RepairSettings settings_;
  const std::string copies_;  // this run's own folder
};

}  // namespace arborfs
