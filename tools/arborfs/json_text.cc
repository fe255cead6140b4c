#include "tools/arborfs/json_text.h"

#include <fmt/format.h>

#include <utility>

#include "core/entry/text.h"
#include "core/json/document.h"

namespace arborfs::cli {
namespace {

bool is_hidden(char32_t code) {
  return code >= 0x7f && (chars::is_control(code) || chars::is_invisible(code));
}

/// True if the bytes of `text` from `at` may be the beginning of a longer character.
bool is_cut(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t needed = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return at + needed > text.size();
}

std::string escaped(char32_t code) {
  if (code < 0x10000) {
    return fmt::format("\\u{:04x}", static_cast<unsigned>(code));
  }
  const auto offset = static_cast<unsigned>(code - 0x10000);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (offset >> 10), 0xdc00 + (offset & 0x3ff));
}

}  // namespace

void TerminalSafeJson::feed(std::string_view piece, std::string& out) {
  const std::string text = std::exchange(held_, {}) + std::string(piece);
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_cut(text, at)) {
      held_ = text.substr(at);
      return;
    }
    const chars::Char character = chars::decode(text, at);
    if (character.valid && is_hidden(character.code)) {
      out += escaped(character.code);
    } else {
      out.append(text, at, character.length);
    }
    at += character.length;
  }
}

std::string terminal_safe_json(std::string_view json) {
  TerminalSafeJson filter;
  std::string out;
  filter.feed(json, out);
  filter.finish(out);
  return out;
}

}  // namespace arborfs::cli
