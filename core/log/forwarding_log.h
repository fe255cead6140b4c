// A log source that shows another one, for classes that change a part of it. Thread-safe as that one is.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/log/log_source.h"

namespace arborfs {

class ForwardingLog : public LogSource {
 public:
  [[nodiscard]] Result<std::uint64_t> size() const override { return log_.size(); }
  [[nodiscard]] Result<FileStat> stat() const override { return log_.stat(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    return log_.read_at(offset, into);
  }
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return log_.metadata(); }
  [[nodiscard]] bool has_current_metadata() const override { return log_.has_current_metadata(); }
  [[nodiscard]] FileStat opened_bytes() const override { return log_.opened_bytes(); }
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override { return log_.splice_file(); }
  [[nodiscard]] std::string_view place() const override { return log_.place(); }
  [[nodiscard]] bool is_decoded() const override { return log_.is_decoded(); }
  [[nodiscard]] std::uint64_t raw_size() const override { return log_.raw_size(); }
  [[nodiscard]] Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const override {
    return log_.read_raw_at(offset, into);
  }

 protected:
  /// `log` outlives it.
  explicit ForwardingLog(const LogSource& log) : LogSource(log.opened()), log_(log) {}
  [[nodiscard]] const LogSource& log() const { return log_; }

 private:
  const LogSource& log_;
};

}  // namespace arborfs
