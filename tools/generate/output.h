// Writes the generator's files: buffered, with every failure kept until close().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/unique_fd.h"

namespace arborfs::generate {

class Output {
 public:
  explicit Output(std::string path);
  /// Bytes appended here are written by flush_if_full() and close().
  std::string& buffer() { return buffer_; }
  void flush_if_full() {
    if (buffer_.size() >= kFull) {
      flush();
    }
  }
  /// Bytes written and buffered.
  [[nodiscard]] std::uint64_t size() const { return written_ + buffer_.size(); }
  Result<void> close();

 private:
  static constexpr std::size_t kFull = 1 << 20;
  void flush();
  std::string path_;
  UniqueFd fd_;
  std::string buffer_;
  std::uint64_t written_ = 0;
  int failure_ = 0;
};

Result<void> write_file(const std::string& path, std::string_view bytes);
Result<void> make_folders(const std::string& path);
/// Sets access and modification time.
Result<void> set_time(const std::string& path, std::int64_t milliseconds);

}  // namespace arborfs::generate
