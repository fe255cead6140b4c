#include "core/formats/opencode/entry_text.h"

#include <algorithm>

#include "core/json/document.h"
#include "core/json/scan.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

/// The object with further members at its end; "" if `json` is no object.
std::string with_members(std::string_view json, std::string_view members) {
  const std::string_view object = trimmed(json);
  if (!object.starts_with('{') || !is_json(object)) {
    return "";
  }
  std::string text = without_spaces(object);
  if (!members.empty()) {
    text.pop_back();
    text.append(text.size() > 1 ? "," : "").append(members).append("}");
  }
  return text;
}

}  // namespace

bool is_json(std::string_view text) {
  const std::string_view value = trimmed(text);
  const json::ValueEnd end = json::scan_value(value, 0);
  return end.verdict == json::ValueScanner::Verdict::value && end.end == value.size();
}

std::string without_spaces(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  bool is_in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!is_in_string && kSpaces.find(c) != std::string_view::npos) {
      continue;
    }
    text += c;
    if (is_in_string && c == '\\' && i + 1 < json.size()) {
      text += json[++i];
    } else if (c == '"') {
      is_in_string = !is_in_string;
    }
  }
  return text;
}

void ObjectText::begin(std::string_view key) {
  text_.append(is_empty() ? "\"" : ",\"").append(key).append("\":");
}

void ObjectText::add_text(std::string_view key, std::string_view text) {
  begin(key);
  json::stringify_string(text, text_);
}

void ObjectText::add_json(std::string_view key, std::string_view json) {
  if (is_json(json)) {
    begin(key);
    text_ += without_spaces(json);
  }
}

void ObjectText::add_number(std::string_view key, double number) {
  begin(key);
  text_ += json::number_text(number);
}

void EntryText::set_info(std::string_view json, std::string_view ids) {
  info_ = with_members(json, ids);
  if (info_.empty()) {
    add_damage(json);
  }
}

void EntryText::add_part(std::string_view json, std::string_view ids) {
  const std::string part = with_members(json, ids);
  if (part.empty()) {
    return add_damage(json);
  }
  parts_.append(parts_.empty() ? "" : ",").append(part);
}

/// On one line, so that nothing in it can pass for an entry.
void EntryText::add_damage(std::string_view text) {
  std::string line(trimmed(text));
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.empty()) {
    return;
  }
  if (line.starts_with('{') && is_json(line)) {
    damage_ += '?';
  }
  damage_.append(line).append("\n");
}

std::string EntryText::take() && {
  if (info_.empty()) {
    add_damage(parts_.empty() ? std::string() : "[" + parts_ + "]");
    return std::move(damage_);
  }
  return R"({"info":)" + info_ + R"(,"parts":[)" + parts_ + "]}\n" + damage_;
}

}  // namespace arborfs::opencode
