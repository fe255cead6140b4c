#include "core/log/log_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/result_macros.h"

namespace arborfs {

LogWindow::LogWindow(const LogSource& log, std::uint64_t end, const std::atomic<bool>* cancelled, std::size_t step)
    : log_(log), end_(end), cancelled_(cancelled), step_(step) {}

Result<std::string_view> LogWindow::view(std::uint64_t offset, std::size_t want) {
  if (offset >= end_) {
    return std::string_view();
  }
  const std::uint64_t needed = std::min<std::uint64_t>(want, end_ - offset);
  if (offset < start_ || offset + needed > start_ + length_) {
    RETURN_IF_ERROR(fill(offset, static_cast<std::size_t>(needed)));
  }
  if (offset >= start_ + length_) {
    return std::string_view();  // the log was truncated
  }
  const auto from = static_cast<std::size_t>(offset - start_);
  return std::string_view(buffer_.get() + from, length_ - from);
}

Result<void> LogWindow::fill(std::uint64_t offset, std::size_t want) {
  if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) {
    return {Errc::interrupted, "reading the log was cancelled"};
  }
  const bool inside = offset >= start_ && offset < start_ + length_;
  const std::size_t from = inside ? static_cast<std::size_t>(offset - start_) : 0;
  const std::size_t kept = inside ? length_ - from : 0;
  make_room(from, kept, static_cast<std::size_t>(std::min<std::uint64_t>(std::max(want, step_), end_ - offset)));
  start_ = offset;
  length_ = kept;
  const std::uint64_t left = end_ - (start_ + length_);
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(capacity_ - length_, left));
  ASSIGN_OR_RETURN(auto got, log_.read_at(start_ + length_, std::span<char>(buffer_.get() + length_, room)));
  length_ += got;
  if (got < room) {
    end_ = start_ + length_;
  }
  return {};
}

// Moves the kept bytes to the front of a buffer of at least `capacity`.
void LogWindow::make_room(std::size_t keep_from, std::size_t kept, std::size_t capacity) {
  if (capacity <= capacity_) {
    std::memmove(buffer_.get(), buffer_.get() + keep_from, kept);
    return;
  }
  std::unique_ptr<char[]> larger(new char[capacity + kPadding]());
  if (kept != 0) {
    std::memcpy(larger.get(), buffer_.get() + keep_from, kept);
  }
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace arborfs
