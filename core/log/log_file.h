// The bytes of one session log as they were opened: one inode, read by position. A log that is replaced by rename
// keeps its old bytes here. Shared by threads.
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
  /// Opens `name` in `dir`. A log of less than 8 MiB that starts FF FE is decoded from UTF-16LE once, and every
  /// offset counts bytes of the UTF-8 text (omp/FORMAT.md A1, A16). Errors: as File::open_in.
  /// With `reopen` the log may be closed while it is not used (pooled_file.h); reads of one whose name leads elsewhere
  /// by then are `stale`.
  static Result<std::shared_ptr<const LogFile>> open(const Dir& dir, const std::string& name,
                                                     PooledFile::Opener reopen = {});
  /// The same for a file that was opened elsewhere.
  static Result<std::shared_ptr<const LogFile>> of(File file, PooledFile::Opener reopen = {});
  /// The same interface over bytes in memory, for tests and tools.
  static std::shared_ptr<const LogFile> from_bytes(std::string bytes);

  /// What stat said when it was opened.
  [[nodiscard]] const FileStat& opened() const { return opened_; }
  /// Bytes that can be read now (grows with the file).
  [[nodiscard]] Result<std::uint64_t> size() const;
  /// Fresh stat of the open inode.
  [[nodiscard]] Result<FileStat> stat() const;
  /// Reads until full or the end; returns how many bytes came. Errors: io.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const;
  /// Exactly these bytes; `stale` when the file no longer has them.
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::uint64_t length) const;
  /// The open file for splicing; null when offsets are not those of a file (decoded, in memory) or it is gone.
  [[nodiscard]] std::shared_ptr<const File> splice_file() const;
  [[nodiscard]] bool is_decoded() const { return memory_.has_value() && file_.has_value(); }
  /// The bytes on disk, whatever is_decoded says (raw.jsonl).
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
