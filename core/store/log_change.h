// What LogWriter promises, for logs that are files: appending whole or not at all, writing in place, taking back. How a
// log is opened and how one takes another's place is left to the stores. One object is used by one thread.
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
  /// `reader` is the log, open since before anything is changed: a failed sync shows on it (FAILURES.md P3).
  LogChange(Disk& disk, File reader, const FileStat& stat) : disk_(disk), reader_(std::move(reader)), stat_(stat) {}

  virtual Result<UniqueFd> open(For what) = 0;
  virtual Result<void> put_in_place(LogDraft& draft) = 0;
  virtual Result<void> sync_names() = 0;
  [[nodiscard]] Disk& disk() const { return disk_; }
  [[nodiscard]] const File& reader() const { return reader_; }

 private:
  /// The log open for changing, if it is still the file that was locked, and as long as it should be.
  Result<UniqueFd> open_same(For what);
  Result<void> cut_back(int fd, std::uint64_t start, std::string_view written);
  Disk& disk_;
  const File reader_;
  const FileStat stat_;
  std::uint64_t appended_bytes_ = 0;  // by this writer, behind stat_.size
  std::string appended_;              // the same, when it is no more than kUndone
  bool changed_bytes_ = false;
  bool changed_names_ = false;
};

}  // namespace arborfs
