#include "core/formats/opencode/session_archive.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/json/document.h"
#include "core/json/scan.h"
#include "core/json/text_bytes.h"

namespace arborfs::opencode {
namespace {

/// The size of the string at the start of `json`, quotation marks included.
std::size_t end_of_string(std::string_view json) {
  for (std::size_t quote = json.find('"', 1); quote != std::string_view::npos; quote = json.find('"', quote + 1)) {
    std::size_t escapes = quote;
    while (json[escapes - 1] == '\\') {
      --escapes;
    }
    if ((quote - escapes) % 2 == 0) {
      return quote + 1;
    }
  }
  return json.size();
}

/// The object with further members at its end; "" if `json` is not an object.
std::string with_members(std::string_view json, std::string_view members) {
  const std::string_view object = stripped(json);
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
  return json::is_one_value(stripped(text));
}

std::string without_spaces(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  while (!json.empty()) {
    const std::size_t string = std::min(json.find('"'), json.size());
    for (const char c : json.substr(0, string)) {
      if (!json::is_space(c)) {
        text += c;
      }
    }
    json.remove_prefix(string);
    const std::size_t end = json.empty() ? 0 : end_of_string(json);
    text.append(json.substr(0, end));
    json.remove_prefix(end);
  }
  return text;
}

void add_value(json::Text& object, std::string_view key, std::string_view json) {
  if (is_json(json)) {
    object.add_json(key, without_spaces(json));
  }
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

/// On one line, so that nothing in it can look like an entry.
void EntryText::add_damage(std::string_view text) {
  std::string line(stripped(text));
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
