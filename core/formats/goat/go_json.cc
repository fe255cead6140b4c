#include "core/formats/goat/go_json.h"

#include <algorithm>

#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs::goat {
namespace {

constexpr std::string_view kTimeShape = "dddd-dd-ddTdd:dd:dd";
constexpr std::string_view kZoneShape = "dd:dd";

bool has_shape(std::string_view text, std::string_view shape) {
  return text.size() == shape.size() && std::equal(text.begin(), text.end(), shape.begin(), [](char c, char wanted) {
           return wanted == 'd' ? c >= '0' && c <= '9' : c == wanted;
         });
}

int two_digits(std::string_view text, std::size_t at) {
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

int days_of(int year, int month) {
  if (month == 2) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  }
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

bool is_clock(std::string_view text) {
  return two_digits(text, 0) <= 23 && two_digits(text, 3) <= 59;
}

bool is_zone(std::string_view text) {
  if (text == "Z") {
    return true;
  }
  const bool is_signed = text.starts_with('+') || text.starts_with('-');
  return is_signed && has_shape(text.substr(1), kZoneShape) && is_clock(text.substr(1));
}

/// True if a struct's field with the tag `name`, in lower case, takes a member with this key.
bool is_key_of(std::string_view key, std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return key.size() == name.size() &&
         std::equal(key.begin(), key.end(), name.begin(), [&](char a, char b) { return lower(a) == b; });
}

}  // namespace

bool spells_key_of(std::string_view spelled, std::string_view name) {
  if (spelled.find('\\') == std::string_view::npos) {
    return is_key_of(spelled, name);
  }
  return is_key_of(skim::string_value("\"" + std::string(spelled) + "\"").value_or(""), name);
}

void keep_go_value(std::string_view& kept, std::string_view value) {
  if (kept.empty() || value != "null") {
    kept = value;
  }
}

std::string_view go_member(std::string_view object, std::string_view name) {
  std::string_view found;
  for (skim::Cursor members(object); members.next();) {
    if (spells_key_of(members.key(), name)) {
      keep_go_value(found, members.value());
    }
  }
  return found;
}

const json::Value* go_member(const json::Value& object, std::string_view name) {
  const json::Value* found = nullptr;
  if (!object.IsObject()) {
    return found;
  }
  for (const auto& member : json::members(object)) {
    if (is_key_of(json::as_string(member.name), name) && (found == nullptr || !member.value.IsNull())) {
      found = &member.value;
    }
  }
  return found;
}

std::optional<std::string> go_string(std::string_view value) {
  return value.empty() || value == "null" ? std::string() : skim::string_value(value);
}

std::string go_string(const json::Value* value) {
  return value != nullptr && value->IsString() ? std::string(json::as_string(*value)) : "";
}

std::string go_utf8(std::string_view bytes) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  constexpr std::size_t kLongestSequence = 4;
  std::string out;
  while (!bytes.empty()) {
    std::size_t length = 1;
    while (length <= kLongestSequence && !json::is_valid_utf8(bytes.substr(0, length))) {
      ++length;
    }
    const bool is_character = length <= kLongestSequence;
    out += is_character ? bytes.substr(0, length) : kReplacement;
    bytes.remove_prefix(is_character ? std::min(length, bytes.size()) : 1);
  }
  return out;
}

bool is_rfc3339(std::string_view text) {
  if (text.size() <= kTimeShape.size() || !has_shape(text.substr(0, kTimeShape.size()), kTimeShape)) {
    return false;
  }
  const int year = two_digits(text, 0) * 100 + two_digits(text, 2);
  const int month = two_digits(text, 5);
  const int day = two_digits(text, 8);
  if (month < 1 || month > 12 || day < 1 || day > days_of(year, month)) {
    return false;
  }
  if (!is_clock(text.substr(11)) || two_digits(text, 17) > 59) {
    return false;
  }
  std::string_view rest = text.substr(kTimeShape.size());
  if (rest.starts_with('.')) {
    const std::size_t end = rest.find_first_not_of("0123456789", 1);
    if (end == 1 || end == std::string_view::npos) {
      return false;
    }
    rest.remove_prefix(end);
  }
  return is_zone(rest);
}

}  // namespace arborfs::goat
