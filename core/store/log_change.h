// Implements LogWriter for logs that are files: atomic appends, writes in place, undo. Opening a log and replacing it
// are left to the stores. One object is used by one thread.
#pragma once

#include <optional>
#include <string>

#include "core/os/disk.h"
#include "core/store/log_writer.h"

namespace arborfs {

class LogChange : public LogWriter {
 public:
  [[nodiscard]] const FileStat& stat() const override { return stat_; }
  [[nodiscard]] Result<LogVersion> version() const override;
  Result<void> append(std::string_view lines) override;
  Result<void> overwrite(std::uint64_t offset, std::string_view bytes) override;
  Result<void> try_append() override;
  Result<void> try_replace() override;
  Result<bool> cut_part(std::uint64_t start, const File& whole, std::uint64_t at) override;
  Result<void> undo_append() override;
  [[nodiscard]] Result<void> verify(const LogVersion& before) const override;
  Result<void> replace(LogDraft& draft, const LogVersion& before) override;
  Result<void> sync() override;

 protected:
  enum class For : std::uint8_t { append, update };
  /// `reader` is the log, open since before any change: a failed sync shows on it (FAILURES.md P3).
  LogChange(Disk& disk, File reader, const FileStat& stat) : disk_(disk), reader_(std::move(reader)), stat_(stat) {}

  virtual Result<UniqueFd> open(For what) = 0;
  virtual Result<void> put_in_place(LogDraft& draft) = 0;
  virtual Result<void> sync_names() = 0;
  [[nodiscard]] Disk& disk() const { return disk_; }
  [[nodiscard]] const File& reader() const { return reader_; }

 private:
  /// The log open for changes, if it is still the locked file and has the expected size. Errors: stale.
  Result<UniqueFd> open_same(For what);
  Result<void> cut_back(int fd, std::uint64_t start, std::string_view written);
  Disk& disk_;
  const File reader_;
  const FileStat stat_;
  std::uint64_t appended_bytes_ = 0;  // by this writer, after stat_.size
  std::string appended_;              // the same, if it is not more than kUndone
  bool changed_bytes_ = false;
  bool changed_names_ = false;
};

}  // namespace arborfs
