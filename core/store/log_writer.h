// The right to change one log, held for a moment: the agents' publish lock and what is done under it
// (CONTRACT.md 5.5, 6.5, FAILURES.md P7). And a log that is being written anew beside its place. One object is used by
// one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/os/file.h"

namespace arborfs {

/// A file of its own in a log's folder, under a name that agents know as a rewrite in progress. Gone with the object
/// unless it was put in a log's place.
class LogDraft {
 public:
  virtual ~LogDraft() = default;
  virtual Result<void> write(std::string_view bytes) = 0;
  /// On the disk (`sync`), or just complete. What is written after it until the draft is published is not synced.
  virtual Result<void> finish(bool sync) = 0;
};

/// What a log was when it began to be rewritten; see LogWriter::replace.
struct LogVersion {
  FileStat stat;
  std::string tail;  // its last bytes
  static constexpr std::size_t kTail = 256;
};

/// The answer when another program changed a log between two looks at it: stale.
inline Error log_changed() {
  return {Errc::stale, "another program wrote to the log meanwhile; try again"};
}

class LogWriter {
 public:
  /// Releases the lock.
  virtual ~LogWriter() = default;

  /// The log as it was when the lock was taken; what this writer did is not in it.
  [[nodiscard]] virtual const FileStat& stat() const = 0;
  /// Another process has it open for writing, lock or no lock.
  [[nodiscard]] virtual bool is_open_elsewhere() const = 0;
  [[nodiscard]] virtual Result<LogVersion> version() const = 0;

  /// All of `lines` behind the log's end, in one write(2) where the disk takes it, or none of it: what was written of
  /// it is cut off again if the bytes are still ours. Errors: no_space, over_quota, too_large, io; stale when the log
  /// was replaced under the lock.
  virtual Result<void> append(std::string_view lines) = 0;
  /// Bytes in place, such as a title slot. Errors: as append.
  virtual Result<void> overwrite(std::uint64_t offset, std::string_view bytes) = 0;
  /// Opens the log as append() would, and writes nothing. Errors: as append.
  virtual Result<void> try_append() = 0;
  /// What replace() would be refused for, as far as the log itself tells.
  virtual Result<void> try_replace() = 0;
  /// Cuts the log back to `start` if what stands behind that is the beginning of what `whole` holds from `at` on, but
  /// not all of it; false when it is not. Only release(), sync() and stat_name() may follow then. Errors: as append.
  virtual Result<bool> cut_part(std::uint64_t start, const File& whole, std::uint64_t at) = 0;
  /// Takes back what this writer appended, if nothing stands behind it and it came to no more than kUndone.
  static constexpr std::size_t kUndone = 1 << 20;
  virtual Result<void> undo_append() = 0;
  /// Errors: stale when the log no longer is what `before` says.
  [[nodiscard]] virtual Result<void> verify(const LogVersion& before) const = 0;
  /// Puts a finished draft in the log's place, if verify() says yes.
  virtual Result<void> replace(LogDraft& draft, const LogVersion& before) = 0;

  /// The log as its name leads to it now. Errors: not_found, io.
  [[nodiscard]] virtual Result<FileStat> stat_name() const = 0;

  /// Gives the lock back; only sync() and stat_name() may follow.
  virtual void release() = 0;
  /// Everything that this writer did is on the disk when it returns. Errors: io; nobody knows then what is.
  virtual Result<void> sync() = 0;
};

}  // namespace arborfs
