// Repairs sessions, and clears away files that agents left next to them. Never changes a session that an agent is using
// (or, without maybe_live, may be using), and never without a copy of the original (CONTRACT.md 6.11).
//
// Whole records among bytes that agents drop get lines of their own; the rest of those bytes is cut out. A missing
// header is written again. Entries that another program's rewrite omitted are put back before the last entry, so that
// the leaf stays. Readable entries keep every byte and their order. A Repairer is used by one thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/omp/edit/log_rewrite.h"
#include "core/formats/omp/edit/orphan_files.h"
#include "core/formats/omp/edit/writer.h"

namespace arborfs::omp {

/// The repair of a log.
struct RepairPlan {
  std::vector<LogEdit> edits;      // in order
  std::vector<std::string> words;  // descriptions of the edits, one sentence each without a full stop, safe to show
};

/// For the session's state as it was last read. An empty plan is not an error. Errors: stale, io; busy while another
/// program writes the log's end; read_only for a log that is never written to (a version above 3, UTF-16).
Result<RepairPlan> plan_repairs(const Session& session, const Catalog& catalog);

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
  Repairer(Writer& writer, RepairSettings settings);
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
  [[nodiscard]] arborfs::Store& store_of(const LogPlace& place) const;
  [[nodiscard]] std::string copies_of(const LogPlace& place) const;
  Writer& writer_;
  const RepairSettings settings_;
  const std::string copies_;  // this run's own folder
};

}  // namespace arborfs::omp
