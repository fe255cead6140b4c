#include "core/json/js_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace arborfs {
namespace {

std::string number_as_text(double number) {
  return std::isfinite(number) ? json::number_text(number) : number < 0 ? "-Infinity" : "Infinity";
}

std::string scalar_text(const json::Value& value) {
  if (value.IsString()) {
    return std::string(json::as_string(value));
  }
  if (value.IsNumber()) {
    return number_as_text(value.GetDouble());
  }
  return value.IsNull() ? "null" : value.IsTrue() ? "true" : value.IsFalse() ? "false" : "[object Object]";
}

// array.join(): flattens nested arrays; null elements are empty.
std::string joined(const json::Value& array) {
  struct Open {
    const json::Value* array;
    rapidjson::SizeType next;
  };
  std::string out;
  std::vector<Open> open = {{&array, 0}};
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == top.array->Size()) {
      open.pop_back();
      continue;
    }
    if (top.next > 0) {
      out += ',';
    }
    const json::Value& element = (*top.array)[top.next++];
    if (element.IsArray()) {
      open.push_back({&element, 0});
    } else if (!element.IsNull()) {
      out += scalar_text(element);
    }
  }
  return out;
}

bool is_js_space(std::string_view character) {
  if (character.size() == 1) {
    return character[0] == ' ' || (character[0] >= '\t' && character[0] <= '\r');
  }
  constexpr std::array<std::string_view, 19> kSpaces = {
      "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
      "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000", "\uFEFF"};
  return std::find(kSpaces.begin(), kSpaces.end(), character) != kSpaces.end();
}

}  // namespace

std::string js_text(const json::Value* value) {
  if (value == nullptr) {
    return "undefined";
  }
  return value->IsArray() ? joined(*value) : scalar_text(*value);
}

std::string js_text_of_json(std::string_view literal) {
  json::Document value;
  return js_text(!literal.empty() && json::parse(literal, value) ? &value : nullptr);
}

std::string characters_json(std::string_view wtf8) {
  std::string out = "[";
  for_each_character(wtf8, [&out](std::string_view character) {
    out += out.size() > 1 ? "," : "";
    json::stringify_string(character, out);
  });
  return out + "]";
}

bool is_blank(std::string_view wtf8) {
  return trimmed_start(wtf8).empty();
}

std::string_view trimmed_start(std::string_view wtf8) {
  while (!wtf8.empty()) {
    const std::size_t length = character_length(wtf8);
    if (!is_js_space(wtf8.substr(0, length))) {
      break;
    }
    wtf8.remove_prefix(length);
  }
  return wtf8;
}

std::string_view trimmed_end(std::string_view wtf8) {
  while (!wtf8.empty()) {
    std::size_t start = wtf8.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(wtf8[start]) & 0xC0) == 0x80) {
      --start;
    }
    if (!is_js_space(wtf8.substr(start))) {
      break;
    }
    wtf8.remove_suffix(wtf8.size() - start);
  }
  return wtf8;
}

std::string_view trimmed(std::string_view wtf8) {
  return trimmed_start(trimmed_end(wtf8));
}

std::size_t character_length(std::string_view wtf8) {
  if (wtf8.empty()) {
    return 0;
  }
  const auto first = static_cast<unsigned char>(wtf8[0]);
  const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, wtf8.size());
}

}  // namespace arborfs
