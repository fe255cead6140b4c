#include "core/log/line_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/base/words.h"

namespace arborfs {

namespace {

constexpr std::string_view kBlank = " \t\r";

}  // namespace

LineReader::LineReader(const LogSource& log, std::uint64_t begin, std::uint64_t end, const std::stop_token& stop)
    : window_(log, end, stop), at_(begin) {}

/// Finds the line feed that ends the line at at_; false if the log has none. Reads one step of the log at a time, so
/// that a long line is never held in memory.
Result<bool> LineReader::find_end(std::uint64_t& end) {
  for (std::uint64_t from = at_;;) {
    ASSIGN_OR_RETURN(const auto text, window_.view(from, 1));
    const std::size_t feed = text.find('\n');
    end = from + std::min(feed, text.size());
    if (feed != std::string_view::npos || text.empty()) {
      return feed != std::string_view::npos;
    }
    from = end;
  }
}

Result<const LineReader::Line*> LineReader::next() {
  while (at_ < window_.end()) {
    std::uint64_t end = 0;
    ASSIGN_OR_RETURN(const bool has_feed, find_end(end));
    line_ = Line{at_, end - at_, {}, end - at_ > kLongestLine, has_feed, end + 1};
    if (!line_.is_too_long) {
      const auto size = static_cast<std::size_t>(line_.length);
      ASSIGN_OR_RETURN(const auto text, window_.view(at_, size));
      line_.text = stripped(text.substr(0, size), kBlank);
      line_.offset += line_.text.empty() ? 0 : static_cast<std::uint64_t>(line_.text.data() - text.data());
      line_.length = line_.text.size();
    }
    at_ = end + 1;
    if (line_.length != 0) {
      return &line_;
    }
  }
  return static_cast<const Line*>(nullptr);
}

namespace {

constexpr std::size_t kReadAtOnce = 512 * 1024;
constexpr std::size_t kMore = 64 * 1024;  // read at a time to find the end of the last line
constexpr std::size_t kKeptBuffer = 4 * kReadAtOnce;

/// The bytes of a stretch, which grow until its last line has ended.
class Bytes {
 public:
  Bytes(const LogSource& log, std::uint64_t begin, std::uint64_t log_end, StretchBuffer& buffer)
      : log_(log), begin_(begin), log_end_(log_end), buffer_(buffer) {}

  [[nodiscard]] std::string_view text() const { return {buffer_.bytes.get(), size_}; }
  [[nodiscard]] bool is_at_end() const { return begin_ + size_ >= log_end_; }

  /// Reads up to `count` more bytes; fewer only at the end of the log.
  Result<void> read(std::size_t count) {
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, log_end_ - begin_ - size_));
    make_room(size_ + count);
    ASSIGN_OR_RETURN(const auto got, log_.read_at(begin_ + size_, std::span(buffer_.bytes.get() + size_, count)));
    size_ += got;
    log_end_ = got < count ? begin_ + size_ : log_end_;
    return {};
  }

 private:
  void make_room(std::size_t size) {
    const std::size_t needed = size + StretchBuffer::kPadding;
    if (buffer_.capacity >= needed && (buffer_.capacity <= kKeptBuffer || needed > kKeptBuffer)) {
      return;
    }
    // With room for the end of the last line, so that few stretches are copied.
    const std::size_t capacity = std::max(needed + kMore, std::min(2 * buffer_.capacity, kKeptBuffer));
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ != 0) {
      std::memcpy(bytes.get(), buffer_.bytes.get(), size_);
    }
    buffer_.bytes = std::move(bytes);
    buffer_.capacity = capacity;
  }

  const LogSource& log_;
  const std::uint64_t begin_;
  std::uint64_t log_end_;
  StretchBuffer& buffer_;
  std::size_t size_ = 0;
};

/// The end of the line that continues after the bytes read so far; nothing if it is too long to be held.
Result<std::optional<std::size_t>> find_far_end(Bytes& bytes, std::size_t line, std::uint64_t longest) {
  std::size_t from = bytes.text().size();
  std::size_t more = kMore;
  while (!bytes.is_at_end()) {
    if (bytes.text().size() - line > longest) {
      break;
    }
    RETURN_IF_ERROR(bytes.read(more));
    const std::size_t feed = bytes.text().find('\n', from);
    if (feed != std::string_view::npos) {
      return std::optional(feed);
    }
    from = bytes.text().size();
    more = std::max(kMore, from / 2);
  }
  return bytes.is_at_end() ? std::optional(from) : std::nullopt;
}

/// The length of a line that begins at `offset` and is too long to be held; `is_ended` says whether a line feed ends
/// it.
Result<std::uint64_t> skim_line(const LogSource& log, std::uint64_t offset, std::uint64_t log_end, bool& is_ended,
                                const std::stop_token& stop) {
  std::vector<char> step(kReadAtOnce);
  for (std::uint64_t at = offset;;) {
    if (stop.stop_requested()) {
      return Error{Errc::interrupted, "reading the log was cancelled"};
    }
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(step.size(), log_end - at));
    ASSIGN_OR_RETURN(const auto got, log.read_at(at, std::span(step.data(), want)));
    const std::size_t feed = std::string_view(step.data(), got).find('\n');
    is_ended = feed != std::string_view::npos;
    if (is_ended || got == 0 || at + got == log_end) {
      return at + (is_ended ? feed : got) - offset;
    }
    at += got;
  }
}

void take_line(std::string_view text, std::uint64_t offset, bool is_ended, const LongLines& long_lines,
               const TakeLine& take) {
  const std::uint64_t next = offset + text.size() + 1;
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return;
  }
  if (text.size() > long_lines.from) {
    if (long_lines.are_taken) {
      take({offset, text.size(), {}, true, is_ended, next});
    }
    return;
  }
  text = text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
  take({offset + first, text.size(), text, false, is_ended, next});
}

/// Where the first line of the stretch starts within its bytes, which begin one byte before it unless the log does.
std::size_t first_line(std::string_view bytes, bool is_start_of_log) {
  if (is_start_of_log) {
    return 0;
  }
  const std::size_t feed = bytes.find('\n');
  return feed == std::string_view::npos ? bytes.size() : feed + 1;
}

}  // namespace

Result<void> read_stretch_lines(const LogSource& log, std::uint64_t begin, std::uint64_t end, std::uint64_t log_end,
                                StretchBuffer& buffer, const TakeLine& take, const std::stop_token& stop,
                                const LongLines& long_lines) {
  const std::uint64_t start = begin == 0 ? 0 : begin - 1;
  const auto size = static_cast<std::size_t>(end - start);
  Bytes bytes(log, start, log_end, buffer);
  RETURN_IF_ERROR(bytes.read(size));
  std::size_t at = first_line(bytes.text().substr(0, size), begin == 0);
  // The lines point into the buffer, so its last line is completed before any is passed on.
  std::size_t last = bytes.text().rfind('\n', size - 1);
  last = last == std::string_view::npos || last < at ? at : last + 1;
  std::optional<std::size_t> last_end = last;
  if (last < size && last < bytes.text().size()) {
    ASSIGN_OR_RETURN(last_end, find_far_end(bytes, last, long_lines.from));
  }
  const std::string_view text = bytes.text();
  while (at < last) {
    const std::size_t feed = text.find('\n', at);
    take_line(text.substr(at, feed - at), start + at, true, long_lines, take);
    at = feed + 1;
  }
  if (!last_end && long_lines.are_taken) {
    bool is_ended = false;
    ASSIGN_OR_RETURN(const auto length, skim_line(log, start + last, log_end, is_ended, stop));
    take({start + last, length, {}, true, is_ended, start + last + length + 1});
  } else if (last_end && *last_end > last) {
    const bool is_ended = *last_end < text.size();
    take_line(text.substr(last, *last_end - last), start + last, is_ended, long_lines, take);
  }
  return {};
}

}  // namespace arborfs
