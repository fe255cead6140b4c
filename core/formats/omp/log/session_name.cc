#include "core/formats/omp/log/session_name.h"

#include <algorithm>
#include <cctype>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/log/log_source.h"

namespace arborfs {

namespace {

constexpr std::string_view kType = "\"session_info\"";
constexpr std::uint64_t kSearched = 4 << 20;

/// The name that a line gives the session; nothing when the line is not a session_info.
std::optional<std::string> name_in(std::string_view line) {
  json::Document entry;
  if (!json::parse(line, entry) || !entry.IsObject() || !json::is_string(json::member(entry, "type"), "session_info")) {
    return std::nullopt;
  }
  return std::string(trimmed(json::string_member(entry, "name").value_or("")));
}

}  // namespace

bool is_uuid(std::string_view id) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return id.size() == kShape.size() && std::equal(id.begin(), id.end(), kShape.begin(), [](char c, char shape) {
           return shape == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

Result<std::optional<std::string>> read_session_name(LogWindow& window, std::uint64_t offset, std::uint64_t length) {
  const auto size = static_cast<std::size_t>(length);
  ASSIGN_OR_RETURN(const auto text, window.view(offset, size));
  return std::optional(name_in(text.substr(0, size)).value_or(""));
}

/// From the last line to the first, each parsed once at most.
Result<std::optional<std::string>> find_session_name(const LogSource& log) {
  ASSIGN_OR_RETURN(const auto size, log.size());
  const std::uint64_t from = size - std::min(size, kSearched);
  auto read = log.read(from, size - from);
  if (!read) {
    return read.error().code == Errc::stale ? Result<std::optional<std::string>>(std::nullopt) : read.error();
  }
  std::string_view left = *read;
  for (std::size_t at = left.rfind(kType); at != std::string_view::npos; at = left.rfind(kType)) {
    const std::size_t line_feed = left.rfind('\n', at);
    if (line_feed == std::string_view::npos && from != 0) {
      break;  // the line begins before the bytes read so far
    }
    const std::size_t start = line_feed == std::string_view::npos ? 0 : line_feed + 1;
    const std::string_view line = left.substr(start, left.find('\n', at) - start);
    if (auto name = line.size() <= kLongestNamingEntry ? name_in(line) : std::nullopt) {
      return name;
    }
    left = left.substr(0, start);
  }
  return std::optional<std::string>();
}

}  // namespace arborfs
