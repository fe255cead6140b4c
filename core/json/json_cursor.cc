#include "core/json/json_cursor.h"

#include "core/json/document.h"
#include "core/json/text_bytes.h"

namespace arborfs::skim {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

using json::is_space;

// The end of the string whose opening quote is at `begin`.
std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin + 1; at < text.size();) {
    const std::size_t quote = text.find('"', at);
    if (quote == kNone) {
      return kNone;
    }
    std::size_t first_backslash = quote;
    while (first_backslash > at && text[first_backslash - 1] == '\\') {
      --first_backslash;
    }
    at = quote + 1;
    if ((quote - first_backslash) % 2 == 0) {
      return at;
    }
  }
  return kNone;
}

std::size_t container_end(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      if (at == kNone) {
        return kNone;
      }
      continue;
    }
    ++at;
    if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at;
    }
  }
  return kNone;
}

}  // namespace

std::size_t value_end(std::string_view text, std::size_t begin) {
  if (begin >= text.size()) {
    return kNone;
  }
  const char c = text[begin];
  if (c == '"') {
    return string_end(text, begin);
  }
  if (c == '{' || c == '[') {
    return container_end(text, begin);
  }
  std::size_t at = begin;
  while (at < text.size() && !is_space(text[at]) && text[at] != ',' && text[at] != '}' && text[at] != ']') {
    ++at;
  }
  return at == begin ? kNone : at;
}

Cursor::Cursor(std::string_view container) : text_(container) {
  if (!text_.empty() && (text_[0] == '{' || text_[0] == '[')) {
    is_object_ = text_[0] == '{';
    at_ = 1;
  } else {
    text_ = {};
  }
}

void Cursor::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) {
    ++at_;
  }
}

bool Cursor::read_key() {
  const std::size_t end = at_ < text_.size() && text_[at_] == '"' ? string_end(text_, at_) : kNone;
  if (end == kNone) {
    return false;
  }
  key_ = text_.substr(at_ + 1, end - at_ - 2);
  at_ = end;
  skip_space();
  if (at_ == text_.size() || text_[at_] != ':') {
    return false;
  }
  ++at_;
  skip_space();
  return true;
}

bool Cursor::next() {
  skip_space();
  if (at_ < text_.size() && text_[at_] == ',') {
    ++at_;
    skip_space();
  }
  const std::size_t end = !is_object_ || read_key() ? value_end(text_, at_) : kNone;
  if (end == kNone) {
    text_ = {};
    at_ = 0;
    return false;
  }
  value_ = text_.substr(at_, end - at_);
  at_ = end;
  return true;
}

bool Cursor::key_is(std::string_view name) const {
  return means(key_, name);
}

std::string_view member(std::string_view object, std::string_view name) {
  std::string_view found;
  if (object.empty() || object[0] != '{') {
    return found;
  }
  for (Cursor cursor(object); cursor.next();) {
    if (cursor.key_is(name)) {
      found = cursor.value();
    }
  }
  return found;
}

std::string set_member(std::string object, std::string_view name, std::string_view value, Layout layout,
                       bool (*is_key)(std::string_view spelled, std::string_view name)) {
  std::string_view present;
  bool has_members = false;
  for (Cursor cursor(object); cursor.next(); has_members = true) {
    present = is_key(cursor.key(), name) ? cursor.value() : present;
  }
  if (!present.empty()) {
    return object.replace(static_cast<std::size_t>(present.data() - object.data()), present.size(), value);
  }
  const bool has_lines = layout == Layout::lines;
  std::string added = has_members ? "," : "";
  added.append(has_lines ? "\n  " : "");
  json::stringify_string(name, added);
  added.append(has_lines ? ": " : ":").append(value).append(has_lines ? "\n" : "");
  const std::size_t brace = object.rfind('}');
  const std::size_t end = object.find_last_not_of(" \t\r\n", brace - 1) + 1;
  return object.replace(end, has_lines ? brace - end : 0, added);
}

std::optional<std::string> string_value(std::string_view literal) {
  if (literal.size() < 2 || literal[0] != '"') {
    return std::nullopt;
  }
  if (literal.find('\\') == kNone) {
    return std::string(literal.substr(1, literal.size() - 2));
  }
  json::Document document;
  if (!json::parse(literal, document) || !document.IsString()) {
    return std::nullopt;
  }
  return std::string(json::as_string(document));
}

std::string text_member(std::string_view object, std::string_view name) {
  return string_value(member(object, name)).value_or("");
}

bool is_string(std::string_view literal, std::string_view text) {
  if (literal.size() < text.size() + 2 || literal[0] != '"') {
    return false;
  }
  if (literal.find('\\') == kNone) {
    return literal.substr(1, literal.size() - 2) == text;
  }
  return string_value(literal) == text;
}

bool means(std::string_view spelled, std::string_view text) {
  if (spelled.size() <= text.size()) {  // an escape is longer than its meaning, so this has none
    return spelled == text;
  }
  const bool may_mean = text.empty() || spelled[0] == text[0] || spelled[0] == '\\';
  return may_mean && spelled.find('\\') != kNone && is_string('"' + std::string(spelled) + '"', text);
}

bool is_truthy(std::string_view literal) {
  if (literal.empty() || literal == "null" || literal == "false" || literal == "\"\"") {
    return false;
  }
  if (literal[0] != '-' && (literal[0] < '0' || literal[0] > '9')) {
    return true;
  }
  json::Document number;
  return json::parse(literal, number) && json::is_truthy(&number);
}

// memmem takes three times as long for such short needles.
bool contains(std::string_view text, std::string_view needle) {
  return text.find(needle) != std::string_view::npos;
}

}  // namespace arborfs::skim
