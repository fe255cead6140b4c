#include "core/log/session_name.h"

#include <algorithm>
#include <cctype>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/log/log_file.h"

namespace arborfs {

namespace {

constexpr std::string_view kType = "\"session_info\"";
constexpr std::uint64_t kStep = 1 << 20;
constexpr std::uint64_t kLongestLine = 1 << 20;  // a name is a line of text

/// The name that a line gives the session; nothing when the line is no session_info.
std::optional<std::string> name_in(std::string_view line) {
  json::Document entry;
  if (!json::parse(line, entry) || !entry.IsObject() || !json::is_string(json::member(entry, "type"), "session_info")) {
    return std::nullopt;
  }
  return std::string(trimmed(json::string_member(entry, "name").value_or("")));
}

/// The whole line around a place in the log; "" where it is longer than kLongestLine.
Result<std::string> line_around(const LogFile& log, std::uint64_t size, std::uint64_t place) {
  const std::uint64_t from = place - std::min(place, kLongestLine);
  ASSIGN_OR_RETURN(const auto text, log.read(from, std::min(size, place + kLongestLine) - from));
  const std::string_view view = text;
  const auto at = static_cast<std::size_t>(place - from);
  const std::size_t before = view.substr(0, at).rfind('\n');
  const std::size_t after = view.find('\n', at);
  if ((before == std::string_view::npos && from != 0) ||
      (after == std::string_view::npos && from + view.size() < size)) {
    return std::string();
  }
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  return std::string(view.substr(start, after == std::string_view::npos ? after : after - start));
}

}  // namespace

bool is_uuid(std::string_view id) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return id.size() == kShape.size() && std::equal(id.begin(), id.end(), kShape.begin(), [](char c, char shape) {
           return shape == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

Result<std::optional<std::string>> read_session_name(LogWindow& window, std::uint64_t offset, std::uint64_t length) {
  if (length > kLongestLine) {
    return std::optional<std::string>("");
  }
  const auto size = static_cast<std::size_t>(length);
  ASSIGN_OR_RETURN(const auto text, window.view(offset, size));
  return std::optional(name_in(text.substr(0, size)).value_or(""));
}

Result<std::optional<std::string>> find_session_name(const LogFile& log, std::uint64_t size) {
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t start = end - std::min(end, kStep);
    // So far behind the end that a word is found which begins before it.
    const std::uint64_t read_to = std::min(size, end + kType.size() - 1);
    ASSIGN_OR_RETURN(const auto bytes, log.read(start, read_to - start));
    for (std::size_t at = bytes.rfind(kType); at != std::string::npos;
         at = at == 0 ? std::string::npos : bytes.rfind(kType, at - 1)) {
      ASSIGN_OR_RETURN(const auto line, line_around(log, size, start + at));
      if (auto name = name_in(line)) {
        return name;
      }
    }
    end = start;
  }
  return std::optional<std::string>();
}

void set_title(Header& header, const std::string& title) {
  header.title = title;
  json::Document document;
  if (!json::parse(header.json, document) || !document.IsObject()) {
    return;
  }
  if (title.empty()) {
    json::erase(document, "title");
  } else {
    json::set(document, "title", json::make_string(title, document), document);
  }
  header.json.clear();
  json::stringify(document, header.json);
}

}  // namespace arborfs
