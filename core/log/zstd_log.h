// A log that is compressed with zstd. Its bytes are decoded once, to a nameless temporary file, and are then read there
// by position; the files of the logs that were read last are kept, and others are decoded again when they are needed.
// So memory, disk and descriptors stay bounded, however many and however large the logs are. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "core/log/log_source.h"

namespace arborfs {

/// What the compressed bytes hold. A log that is damaged or cut off, or that grows beyond most_decoded(), has what was
/// decoded before, and then a line that says so and is not JSON.
class ZstdLog final : public LogSource {
 public:
  /// Decodes `compressed`. Errors: corrupt if nothing of it can be decoded; io, no_space; interrupted once a stop is
  /// requested.
  static Result<std::shared_ptr<const LogSource>> open(std::shared_ptr<const LogSource> compressed,
                                                       const std::stop_token& stop);
  /// Only the first `most` bytes, in memory: for a listing. Errors: corrupt, io.
  static Result<std::shared_ptr<const LogSource>> open_start(const LogSource& compressed, std::uint64_t most);
  /// The most bytes that a log of this compressed size may have: far more than logs compress to, far less than a
  /// decompression bomb has.
  static std::uint64_t most_decoded(std::uint64_t compressed_size);

  [[nodiscard]] Result<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] Result<FileStat> stat() const override { return compressed_->stat(); }
  /// Errors also: stale if the log was decoded before, and is not the same any more.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override;
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override;
  [[nodiscard]] bool is_decoded() const override { return true; }
  [[nodiscard]] std::uint64_t raw_size() const override { return size_; }
  [[nodiscard]] Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const override {
    return read_at(offset, into);
  }

 private:
  explicit ZstdLog(std::shared_ptr<const LogSource> compressed);
  [[nodiscard]] Result<std::shared_ptr<const File>> decode(const std::stop_token& stop) const;
  [[nodiscard]] Result<std::shared_ptr<const File>> decoded() const;
  const std::shared_ptr<const LogSource> compressed_;
  std::uint64_t size_ = 0;  // of the decoded bytes
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const File> file_;  // the decoded bytes, while they are kept; guarded by mutex_
};

}  // namespace arborfs
