#include "core/formats/codex/record.h"

#include <algorithm>
#include <array>

#include "core/base/stripped.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"

namespace arborfs::codex {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

struct Opening {
  std::string_view text;  // lower case
  Origin origin;
};

constexpr std::array kOpenings = {
    Opening{"<environment_context>", Origin::harness},    Opening{"<user_instructions>", Origin::harness},
    Opening{"# agents.md instructions", Origin::harness}, Opening{"<permissions instructions>", Origin::harness},
    Opening{"<turn_aborted>", Origin::interruption},      Opening{"<user_shell_command>", Origin::shell},
};

Origin by_text(std::string_view text) {
  text = stripped(text);
  for (const Opening& opening : kOpenings) {
    if (starts_with_word(text, opening.text)) {
      return opening.origin;
    }
  }
  return Origin::typed;
}

}  // namespace

bool is_object(std::string_view text) {
  return text.starts_with('{') && json::is_valid_utf8(text) && json::is_one_value(text);
}

std::optional<std::uint64_t> count_of(std::string_view literal) {
  constexpr std::size_t kDigits = 18;
  std::uint64_t value = 0;
  for (const char c : literal) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return literal.empty() || literal.size() > kDigits ? std::nullopt : std::optional(value);
}

std::string sums_text(std::string_view total_token_usage) {
  std::string text;
  for (const std::string_view key : {"input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"}) {
    text.append(skim::member(total_token_usage, key)).append(" ");
  }
  return text;
}

Origin origin_of(std::string_view kind, std::string_view text) {
  if (kind.starts_with("user.")) {
    return Origin::typed;
  }
  if (kind == "generic.turn_aborted") {
    return Origin::interruption;
  }
  if (kind == "shell.user_command") {
    return Origin::shell;
  }
  if (kind == "compaction.summary") {
    return Origin::summary;
  }
  return kind.empty() || kind == "unknown" ? by_text(text) : Origin::harness;
}

Origin origin_of_message(std::string_view content, std::string_view metadata) {
  skim::Cursor kinds(skim::member(metadata, "content_item_kinds"));
  Origin found = Origin::harness;
  bool is_first = true;
  for (skim::Cursor items(content); items.next();) {
    const std::string kind = kinds.next() ? skim::string_value(kinds.value()).value_or("") : "";
    const std::string text = skim::string_value(skim::member(items.value(), "text")).value_or("");
    const Origin origin = origin_of(kind, text);
    if (origin == Origin::typed) {
      return origin;
    }
    found = is_first ? origin : found;
    is_first = false;
  }
  return is_first ? Origin::typed : found;
}

}  // namespace arborfs::codex
