// A log in memory that grows step by step, and the cost of reading it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/log/log_source.h"

namespace arborfs::tests {

class GrowingLog final : public LogSource {
 public:
  /// Shows the first `size` of `bytes`.
  explicit GrowingLog(std::string bytes, std::size_t size = 0, std::optional<std::string> metadata = std::nullopt)
      : LogSource(FileStat()), bytes_(std::move(bytes)), size_(size), metadata_(std::move(metadata)) {}

  void show(std::size_t size) { size_ = size; }
  [[nodiscard]] const std::string& all() const { return bytes_; }
  /// How many bytes were read since the last call.
  [[nodiscard]] std::uint64_t take_reads() const { return reads_.exchange(0); }

  [[nodiscard]] Result<std::uint64_t> size() const override { return std::uint64_t{size_}; }
  [[nodiscard]] Result<FileStat> stat() const override { return opened(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    const std::size_t from = std::min<std::size_t>(offset, size_);
    const std::size_t count = std::min(into.size(), size_ - from);
    std::memcpy(into.data(), bytes_.data() + from, count);
    reads_ += count;
    return count;
  }
  [[nodiscard]] std::optional<std::string_view> metadata() const override {
    return metadata_ ? std::optional<std::string_view>(*metadata_) : std::nullopt;
  }

 private:
  const std::string bytes_;
  std::size_t size_;
  const std::optional<std::string> metadata_;
  mutable std::atomic<std::uint64_t> reads_{0};
};

}  // namespace arborfs::tests
