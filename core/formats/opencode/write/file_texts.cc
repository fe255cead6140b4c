#include "core/formats/opencode/write/file_texts.h"

#include <charconv>

#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::opencode {
namespace {

constexpr std::size_t kIndent = 2;

void start_line(std::size_t depth, std::string& out) {
  out.append("\n").append(depth * kIndent, ' ');
}

/// The text with other bytes for a view of it.
std::string with_value(const std::string& text, std::string_view value, std::string_view other) {
  std::string changed = text;
  return changed.replace(static_cast<std::size_t>(value.data() - text.data()), value.size(), other);
}

}  // namespace

std::string indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool opens = c == '{' || c == '[';
    const bool closes = c == '}' || c == ']';
    if (c == '"') {
      const std::size_t begin = i;
      for (++i; json[i] != '"'; ++i) {
        i += json[i] == '\\' ? 1U : 0U;
      }
      out += json.substr(begin, i + 1 - begin);
    } else if (opens && (json[i + 1] == '}' || json[i + 1] == ']')) {
      out += json.substr(i, 2);
      ++i;
    } else if (opens || c == ',') {
      depth += opens ? 1 : 0;
      out += c;
      start_line(depth, out);
    } else if (closes) {
      start_line(--depth, out);
      out += c;
    } else {
      out += c;
      out += c == ':' ? " " : "";
    }
  }
  return out;
}

Result<std::string> with_title(const std::string& session, std::string_view title) {
  json::Document object;
  if (!json::parse(session, object) || !object.IsObject()) {
    return Error{Errc::corrupt, "the file of the session is not a JSON object"};
  }
  const std::string literal = json::stringify_string(title);
  if (const std::string_view present = skim::member(session, "title"); !present.empty()) {
    return with_value(session, present, literal);
  }
  const bool is_empty = object.MemberCount() == 0;
  std::string changed = session;
  return changed.insert(changed.find('{') + 1, "\n  \"title\": " + literal + (is_empty ? "\n" : ","));
}

std::string with_time(const std::string& session, std::int64_t time_ms) {
  const std::string_view updated = skim::member(skim::member(session, "time"), "updated");
  double present = 0;
  const auto [end, failed] = std::from_chars(updated.data(), updated.data() + updated.size(), present);
  const bool is_later = !updated.empty() && failed == std::errc() && present < static_cast<double>(time_ms);
  return is_later ? with_value(session, updated, std::to_string(time_ms)) : session;
}

bool has_revert(std::string_view session) {
  return skim::member(session, "revert").starts_with('{');
}

}  // namespace arborfs::opencode
