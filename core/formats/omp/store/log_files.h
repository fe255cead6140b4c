// What writes the logs of omp and pi, on disk or in memory: a part of their store. Thread-safe.
#pragma once

#include <memory>

#include "core/store/log_writer.h"
#include "core/store/store.h"

namespace arborfs::omp {

class LogFiles {
 public:
  virtual ~LogFiles() = default;
  /// Takes the log's lock. Errors: busy if another writer holds it for longer than the wait; not_found, permission, io.
  [[nodiscard]] virtual Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) = 0;
  /// Begins a new log that will be at `place`; makes its folder if missing. It has the permissions that the agent's
  /// logs have, except those that are not in `permissions`.
  [[nodiscard]] virtual Result<std::unique_ptr<TempFile>> draft(const LogPlace& place, mode_t permissions) = 0;
  /// Begins one that will replace the log at `place`, with its attributes (core/os/file_tree.h), and that will be
  /// at `to`, whose folder it makes if missing. Errors also: not_found, not_permitted.
  [[nodiscard]] virtual Result<std::unique_ptr<TempFile>> redraft(const LogPlace& place, const LogPlace& to) = 0;
  /// Moves a finished draft to its intended place. Errors: already_exists, io.
  virtual Result<void> publish(TempFile& draft, const LogPlace& place, Disk::Existing existing, bool sync) = 0;
  /// Renames a log with its artifacts and the backups that agents left (`<log>.<id>.bak`, which agents would restore
  /// again, F9); the caller holds the lock and syncs both folders. Errors: already_exists, io; everything is renamed
  /// back then.
  virtual Result<void> move(const LogPlace& from, const LogPlace& to) = 0;
};

/// Those of a store of omp, of pi, or in memory.
inline LogFiles& log_files(arborfs::Store& store) {
  return dynamic_cast<LogFiles&>(store);
}

}  // namespace arborfs::omp
