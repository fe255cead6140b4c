// The right to change one log, held briefly: the agents' publish lock and the changes made under it (CONTRACT.md 5.5,
// 6.5, FAILURES.md P7). Also drafts: new versions of logs under temporary names. One object is used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/os/file.h"
#include "core/os/temp_file.h"

namespace arborfs {

/// A new file in a log's folder, under a name that agents recognise as a rewrite in progress.
using LogDraft = TempFile;

/// The state of a log when its rewrite began; see LogWriter::replace.
struct LogVersion {
  FileStat stat;
  std::string tail;  // its last bytes
  static constexpr std::size_t kTail = 256;
};

/// The error if another program changed a log between two reads of it: stale.
inline Error log_changed() {
  return {Errc::stale, "another program wrote to the log meanwhile; try again"};
}

class LogWriter {
 public:
  /// Releases the lock.
  virtual ~LogWriter() = default;

  /// The log's stat when the lock was taken; this writer's own changes are not in it.
  [[nodiscard]] virtual const FileStat& stat() const = 0;
  /// True if another process has it open for writing, with or without the lock.
  [[nodiscard]] virtual bool is_open_elsewhere() const = 0;
  [[nodiscard]] virtual Result<LogVersion> version() const = 0;

  /// Appends all of `lines`, in one write(2) if the disk takes it, or none of it: a part that was written is cut off
  /// again if its bytes are still ours. Errors: no_space, over_quota, too_large, io; stale if the log was replaced
  /// under the lock.
  virtual Result<void> append(std::string_view lines) = 0;
  /// Writes bytes in place, such as a title slot. Errors: as append.
  virtual Result<void> overwrite(std::uint64_t offset, std::string_view bytes) = 0;
  /// Opens the log as append() would, but writes nothing. Errors: as append.
  virtual Result<void> try_append() = 0;
  /// Checks that the log's attributes allow replace(). Errors: not_permitted.
  virtual Result<void> try_replace() = 0;
  /// Cuts the log back to `start` if its bytes after that are the beginning, but not all, of the bytes of `whole` from
  /// `at` on; false if they are not. After a cut only release(), sync() and stat_name() may follow. Errors: as append.
  virtual Result<bool> cut_part(std::uint64_t start, const File& whole, std::uint64_t at) = 0;
  /// Removes the bytes that this writer appended, if nothing follows them and they are at most kUndone.
  static constexpr std::size_t kUndone = 1 << 20;
  virtual Result<void> undo_append() = 0;
  /// Errors: stale if the log is no longer as `before` says.
  [[nodiscard]] virtual Result<void> verify(const LogVersion& before) const = 0;
  /// Replaces the log with a finished draft if verify() succeeds.
  virtual Result<void> replace(LogDraft& draft, const LogVersion& before) = 0;

  /// The stat of the file that the log's name leads to now. Errors: not_found, io.
  [[nodiscard]] virtual Result<FileStat> stat_name() const = 0;

  /// Releases the lock; only sync() and stat_name() may follow.
  virtual void release() = 0;
  /// All changes by this writer are on the disk when it returns. Errors: io; the contents of the disk are then unknown.
  virtual Result<void> sync() = 0;
};

}  // namespace arborfs
