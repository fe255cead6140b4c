#include "core/log/line_reader.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/base/stripped.h"

namespace arborfs {
namespace {

constexpr std::string_view kBlank = " \t\r";

}  // namespace

LineReader::LineReader(const LogSource& log, std::uint64_t begin, std::uint64_t end, const std::atomic<bool>* cancelled)
    : window_(log, end, cancelled), at_(begin) {}

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

}  // namespace arborfs
