// A session log that is one file: the inode that was opened, read by position. If another file replaces the log by
// rename, this object never reads that file. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/log/log_source.h"
#include "core/os/file.h"
#include "core/os/pooled_file.h"

namespace arborfs {

class LogFile final : public LogSource {
 public:
  /// Opens `name` in `dir`, through a symbolic link if it is one. A log of less than 8 MiB that starts with FF FE is
  /// decoded from UTF-16LE once, and every offset counts bytes of the UTF-8 text (omp/FORMAT.md A1, A16). Errors: as
  /// File::follow_in. With `reopen` the file may be closed while it is not in use (pooled_file.h); a read fails with
  /// `stale` if the name leads to another file by then. `folder` is that of
  /// place().
  static Result<std::shared_ptr<const LogSource>> open(const Dir& dir, const std::string& name,
                                                       PooledFile::Opener reopen = {}, const std::string& folder = "");
  /// The same for a file that was opened elsewhere.
  static Result<std::shared_ptr<const LogSource>> of(File file, PooledFile::Opener reopen = {});

  /// Errors of this and of the reads: io, and those of PooledFile::acquire.
  [[nodiscard]] Result<std::uint64_t> size() const override;
  [[nodiscard]] Result<FileStat> stat() const override;
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override;
  /// Null if the log is decoded or cannot be reopened.
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override;
  [[nodiscard]] std::string_view place() const override { return place_; }
  [[nodiscard]] bool is_decoded() const override { return decoded_ != nullptr; }
  [[nodiscard]] Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const override;

 private:
  LogFile(File file, const FileStat& stat, PooledFile::Opener reopen, std::optional<std::string> decoded,
          std::string place);
  static Result<std::shared_ptr<const LogSource>> of(File file, const FileStat& stat, PooledFile::Opener reopen,
                                                     std::string place);
  const PooledFile file_;
  const std::string place_;
  const std::shared_ptr<const LogSource> decoded_;  // null if the bytes on disk are UTF-8
};

}  // namespace arborfs
