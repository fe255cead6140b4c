#include "core/log/log_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace arborfs {

namespace {

class MemoryLog final : public LogSource {
 public:
  MemoryLog(std::string bytes, const FileStat& opened) : LogSource(opened), bytes_(std::move(bytes)) {}

  [[nodiscard]] Result<std::uint64_t> size() const override { return static_cast<std::uint64_t>(bytes_.size()); }
  [[nodiscard]] Result<FileStat> stat() const override { return opened(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    if (offset >= bytes_.size()) {
      return std::size_t{0};
    }
    const std::size_t count = std::min(into.size(), bytes_.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  const std::string bytes_;
};

/// The first bytes of a log, which outlives it.
class LogBeginning final : public ForwardingLog {
 public:
  LogBeginning(const LogSource& log, std::uint64_t size) : ForwardingLog(log), size_(size) {}
  [[nodiscard]] Result<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    const std::uint64_t left = offset < size_ ? size_ - offset : 0;
    return log().read_at(offset, into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left))));
  }

 private:
  const std::uint64_t size_;
};

}  // namespace

Result<std::shared_ptr<const LogSource>> LogSource::beginning(std::uint64_t bytes) const {
  return std::shared_ptr<const LogSource>(std::make_shared<const LogBeginning>(*this, bytes));
}

Result<std::string> LogSource::read(std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto total, size());
  if (offset > total || length > total - offset) {
    return Error{Errc::stale, "the log changed during the read; open the file again"};
  }
  std::string bytes(length, '\0');
  ASSIGN_OR_RETURN(const auto got, read_at(offset, bytes));
  if (got < length) {
    return Error{Errc::stale, "the log was truncated during the read; try again"};
  }
  return bytes;
}

Result<void> copy_bytes(const LogSource& log, std::uint64_t from, std::uint64_t end, const ByteSink& write) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20U;
  while (from < end) {
    ASSIGN_OR_RETURN(const auto bytes, log.read(from, std::min(kStep, end - from)));
    RETURN_IF_ERROR(write(bytes));
    from += bytes.size();
  }
  return {};
}

std::string_view stem_of_place(std::string_view place) {
  place.remove_prefix(place.rfind('/') + 1);
  return place.substr(0, place.rfind('.'));
}

std::shared_ptr<const LogSource> log_from_bytes(std::string bytes) {
  FileStat stat;
  stat.size = bytes.size();
  return log_from_bytes(std::move(bytes), stat);
}

std::shared_ptr<const LogSource> log_from_bytes(std::string bytes, const FileStat& opened) {
  return std::make_shared<const MemoryLog>(std::move(bytes), opened);
}

LogWindow::LogWindow(const LogSource& log, std::uint64_t end, const std::stop_token& stop, std::size_t step)
    : log_(log), end_(end), stop_(stop), step_(step) {}

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
  if (stop_.stop_requested()) {
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
  auto larger = std::make_unique_for_overwrite<char[]>(capacity + kPadding);
  std::memset(larger.get() + capacity, 0, kPadding);
  if (kept != 0) {
    std::memcpy(larger.get(), buffer_.get() + keep_from, kept);
  }
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace arborfs
