// The bytes of one session log: the inode that was opened, read by position. If another file replaces the log by
// rename, this object never reads that file. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/os/file.h"
#include "core/os/pooled_file.h"

namespace arborfs {

class LogFile {
 public:
  /// Opens `name` in `dir`. A log of less than 8 MiB that starts with FF FE is decoded from UTF-16LE once, and every
  /// offset counts bytes of the UTF-8 text (omp/FORMAT.md A1, A16). Errors: as File::open_in.
  /// With `reopen` the file may be closed while it is not in use (pooled_file.h); a read fails with `stale` if the name
  /// leads to another file by then.
  static Result<std::shared_ptr<const LogFile>> open(const Dir& dir, const std::string& name,
                                                     PooledFile::Opener reopen = {});
  /// The same for a file that was opened elsewhere.
  static Result<std::shared_ptr<const LogFile>> of(File file, PooledFile::Opener reopen = {});
  /// The same interface over bytes in memory, for tests and tools.
  static std::shared_ptr<const LogFile> from_bytes(std::string bytes);

  /// The stat from when the log was opened.
  [[nodiscard]] const FileStat& opened() const { return opened_; }
  /// How many bytes can be read now (grows with the file).
  [[nodiscard]] Result<std::uint64_t> size() const;
  /// Fresh stat of the open inode.
  [[nodiscard]] Result<FileStat> stat() const;
  /// Reads until `into` is full or the log ends; returns how many bytes were read. Errors: io, and those of
  /// PooledFile::acquire.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const;
  /// Exactly these bytes; `stale` if the log does not have them any more.
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::uint64_t length) const;
  /// The open file, for splicing; null if offsets do not match a file (decoded or in memory) or it cannot be reopened.
  [[nodiscard]] std::shared_ptr<const File> splice_file() const;
  [[nodiscard]] bool is_decoded() const { return memory_.has_value() && file_.has_value(); }
  /// Like read_at, but reads the bytes on disk even if is_decoded() (raw.jsonl).
  [[nodiscard]] Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const;

 private:
  LogFile() = default;
  static Result<std::shared_ptr<const LogFile>> of(File file, const FileStat& stat, PooledFile::Opener reopen);
  [[nodiscard]] Result<std::size_t> read_file(std::uint64_t offset, std::span<char> into) const;
  std::optional<PooledFile> file_;
  std::optional<std::string> memory_;
  FileStat opened_;
};

}  // namespace arborfs
