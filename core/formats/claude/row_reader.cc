#include "core/formats/claude/row_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "core/base/result_macros.h"
#include "core/log/line_reader.h"

namespace arborfs::claude {
namespace {

constexpr std::size_t kRowStep = 512 * 1024;
constexpr std::size_t kMore = 64 * 1024;  // read at a time to find the end of the last line
constexpr std::size_t kKeptBuffer = 4 * kRowStep;
constexpr std::string_view kWhite = " \t\r";

/// The bytes of a stretch, which grow until its last line has ended.
class Bytes {
 public:
  Bytes(const LogSource& log, std::uint64_t begin, std::uint64_t log_end, Stretch& stretch)
      : log_(log), begin_(begin), log_end_(log_end), stretch_(stretch) {}

  [[nodiscard]] std::string_view text() const { return {stretch_.bytes.get(), size_}; }
  [[nodiscard]] bool is_at_end() const { return begin_ + size_ >= log_end_; }

  /// Reads up to `count` more bytes; fewer only at the end of the log.
  Result<void> read(std::size_t count) {
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, log_end_ - begin_ - size_));
    make_room(size_ + count);
    ASSIGN_OR_RETURN(const auto got, log_.read_at(begin_ + size_, std::span(stretch_.bytes.get() + size_, count)));
    size_ += got;
    log_end_ = got < count ? begin_ + size_ : log_end_;
    return {};
  }

 private:
  void make_room(std::size_t size) {
    const std::size_t needed = size + RowParser::kPadding;
    if (stretch_.capacity >= needed && (stretch_.capacity <= kKeptBuffer || needed > kKeptBuffer)) {
      return;
    }
    const std::size_t capacity = std::max(needed, std::min(2 * stretch_.capacity, kKeptBuffer));
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ != 0) {
      std::memcpy(bytes.get(), stretch_.bytes.get(), size_);
    }
    stretch_.bytes = std::move(bytes);
    stretch_.capacity = capacity;
  }

  const LogSource& log_;
  const std::uint64_t begin_;
  std::uint64_t log_end_;
  Stretch& stretch_;
  std::size_t size_ = 0;
};

/// Where the line that lasts beyond the bytes read so far ends; nothing if it is longer than any row.
Result<std::optional<std::size_t>> find_far_end(Bytes& bytes, std::size_t line) {
  std::size_t from = bytes.text().size();
  std::size_t more = kMore;
  while (!bytes.is_at_end()) {
    if (bytes.text().size() - line > LineReader::kLongestLine) {
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
Result<std::uint64_t> skim_line(const LogSource& log, std::uint64_t offset, std::uint64_t log_end, bool& is_ended) {
  std::vector<char> step(kRowStep);
  for (std::uint64_t at = offset;;) {
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

Damage damage_of(std::uint64_t offset, std::uint64_t length, std::string_view text, bool is_ended) {
  const Damage::Kind kind = text.empty()           ? Damage::Kind::too_tangled
                            : text.front() == '\0' ? Damage::Kind::nul
                            : is_ended             ? Damage::Kind::malformed
                                                   : Damage::Kind::unfinished;
  return {offset, length, kind, !is_ended};
}

void take_line(std::string_view line, std::uint64_t offset, bool is_ended, RowParser& parser, Stretch& stretch) {
  const std::size_t first = line.find_first_not_of(kWhite);
  if (first == std::string_view::npos) {
    return;
  }
  const std::string_view text = line.substr(first, line.find_last_not_of(kWhite) + 1 - first);
  Row row = parser.parse(text, stretch.texts);
  row.offset = offset + first;
  if (row.kind == Row::Kind::bad) {
    stretch.damage.push_back(damage_of(row.offset, text.size(), text, is_ended));
    return;
  }
  if (row.rest != 0) {
    stretch.damage.push_back({row.offset + row.length, row.rest, Damage::Kind::fused, !is_ended});
  }
  if (row.kind != Row::Kind::aside) {
    stretch.rows.push_back(row);
  }
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

Result<void> read_stretch(const LogSource& log, std::uint64_t begin, std::uint64_t end, std::uint64_t log_end,
                          RowParser& parser, Stretch& stretch) {
  stretch.rows.clear();
  stretch.damage.clear();
  stretch.texts.clear();
  const std::uint64_t start = begin == 0 ? 0 : begin - 1;
  const auto size = static_cast<std::size_t>(end - start);
  Bytes bytes(log, start, log_end, stretch);
  RETURN_IF_ERROR(bytes.read(size));
  std::size_t at = first_line(bytes.text().substr(0, size), begin == 0);
  // The rows point into the buffer, so its last line is made whole before any row is read.
  std::size_t last = bytes.text().rfind('\n', size - 1);
  last = last == std::string_view::npos || last < at ? at : last + 1;
  std::optional<std::size_t> last_end = last;
  if (last < size && last < bytes.text().size()) {
    ASSIGN_OR_RETURN(last_end, find_far_end(bytes, last));
  }
  const std::string_view text = bytes.text();
  while (at < last) {
    const std::size_t feed = text.find('\n', at);
    take_line(text.substr(at, feed - at), start + at, true, parser, stretch);
    at = feed + 1;
  }
  if (!last_end) {
    bool is_ended = false;
    ASSIGN_OR_RETURN(const auto length, skim_line(log, start + last, log_end, is_ended));
    stretch.damage.push_back(damage_of(start + last, length, "", is_ended));
  } else if (*last_end > last) {
    const bool is_ended = *last_end < text.size();
    take_line(text.substr(last, *last_end - last), start + last, is_ended, parser, stretch);
  }
  return {};
}

}  // namespace arborfs::claude
