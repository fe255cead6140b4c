// The right to change one log, held briefly: the agents' publish lock and the changes made under it (CONTRACT.md 5.5,
// 6.5, FAILURES.md P7). Also drafts: new versions of logs under temporary names. One object is used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/os/disk.h"
#include "core/os/temp_file.h"

namespace arborfs {

/// The state of a log when its rewrite began; see LogWriter::replace.
struct LogVersion {
  FileStat stat;
  std::string tail;  // its last bytes
  static constexpr std::size_t kTail = 256;
  /// What keeps a torn last line apart from one that is appended: a line feed, or nothing.
  [[nodiscard]] const char* lead() const { return tail.empty() || tail.ends_with('\n') ? "" : "\n"; }
};

/// The error if another program changed a log between two reads of it: stale.
inline Error log_changed() {
  return {Errc::stale, "another program wrote to the log meanwhile; try again"};
}

class LogWriter {
 public:
  /// Of a file `name` in `folder`, which is not a folder for a log that has no name. `log` is that file, open since
  /// before any change: a failed sync shows on it (FAILURES.md P3). `lock` ends with release(). `is_new`: sync() also
  /// syncs its name. `disk` outlives the writer.
  LogWriter(Disk& disk, std::shared_ptr<const Dir> folder, std::string name, std::shared_ptr<const void> lock, File log,
            const FileStat& stat, bool is_new = false)
      : disk_(disk),
        folder_(std::move(folder)),
        name_(std::move(name)),
        lock_(std::move(lock)),
        reader_(std::move(log)),
        stat_(stat),
        changed_names_(is_new) {}
  /// Releases the lock.
  virtual ~LogWriter() = default;
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// The log's stat when the lock was taken; this writer's own changes are not in it.
  [[nodiscard]] const FileStat& stat() const { return stat_; }
  /// The log, open for reading.
  [[nodiscard]] const File& log() const { return reader_; }
  /// True if another process has it open for writing, with or without the lock.
  [[nodiscard]] virtual bool is_open_elsewhere() const;
  [[nodiscard]] Result<LogVersion> version() const;

  /// Appends all of `lines`, in one write(2) if the disk takes it, or none of it: a part that was written is cut off
  /// again if its bytes are still ours. Errors: no_space, over_quota, too_large, io; stale if the log was replaced
  /// under the lock.
  Result<void> append(std::string_view lines);
  /// Writes bytes in place, such as a title slot. Errors: as append.
  Result<void> overwrite(std::uint64_t offset, std::string_view bytes);
  /// Opens the log as append() would, but writes nothing. Errors: as append.
  Result<void> try_append();
  /// Checks that the log's attributes allow replace(). Errors: not_permitted.
  Result<void> try_replace();
  /// Cuts the log back to `start` if its bytes after that are the beginning, but not all, of the bytes of `whole` from
  /// `at` on; false if they are not. After a cut only release(), sync() and stat_name() may follow. Errors: as append.
  Result<bool> cut_part(std::uint64_t start, const File& whole, std::uint64_t at);
  /// Removes the bytes that this writer appended, if nothing follows them and they are at most kUndone.
  static constexpr std::size_t kUndone = 1 << 20;
  Result<void> undo_append();
  /// The bytes that this writer appended, if they are at most kUndone, else "".
  [[nodiscard]] const std::string& appended() const { return appended_; }
  /// Errors: stale if the log is no longer as `before` says.
  [[nodiscard]] Result<void> verify(const LogVersion& before) const;
  /// Replaces the log with a finished draft if verify() succeeds.
  Result<void> replace(TempFile& draft, const LogVersion& before);

  /// The stat of the file that the log's name leads to now. Errors: not_found, io.
  [[nodiscard]] virtual Result<FileStat> stat_name() const { return folder_->stat(name_); }

  /// The folder that it has open, if its file has this name there; else null.
  [[nodiscard]] const Dir* folder_of(std::string_view name) const { return name == name_ ? folder_.get() : nullptr; }

  /// Releases the lock; only sync() and stat_name() may follow.
  void release() { lock_.reset(); }
  /// All changes by this writer are on the disk when it returns. Errors: io; the contents of the disk are then unknown.
  Result<void> sync();

 protected:
  enum class For : std::uint8_t { append, update };
  virtual Result<UniqueFd> open(For what);
  virtual Result<void> put_in_place(TempFile& draft);

 private:
  /// The log open for changes, if it is still the locked file and has the expected size. Errors: stale.
  Result<UniqueFd> open_same(For what);
  Result<void> cut_back(int fd, std::uint64_t start, std::string_view written);
  Disk& disk_;
  const std::shared_ptr<const Dir> folder_;  // the lock may refer to it; null for a log without a name
  const std::string name_;
  std::shared_ptr<const void> lock_;  // null once it is released
  const File reader_;
  const FileStat stat_;
  std::uint64_t appended_bytes_ = 0;  // by this writer, after stat_.size
  std::string appended_;              // the same, if it is not more than kUndone
  bool changed_bytes_ = false;
  bool changed_names_;
};

/// A file of lines to which other programs append too; it is created, for its owner alone, if it is missing.
Result<std::unique_ptr<LogWriter>> open_lines(Disk& disk, const std::shared_ptr<const Dir>& folder,
                                              const std::string& name);
/// Appends a line, without joining it to a torn last one; `line` has a line feed. Errors: as LogWriter::append(); stale
/// also if another program wrote since the file was opened.
Result<void> append_line(LogWriter& lines, std::string_view line);

/// Names a finished draft. No process may find a log open for writing, so the draft is closed first.
Result<void> publish_closed(TempFile& draft, const Dir& to, const std::string& name, Disk::Existing existing);

}  // namespace arborfs
