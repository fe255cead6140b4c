#include "tests/fuzz/support/reference_reader.h"

#include "core/json/scan.h"

namespace arborfs::fuzz {
namespace {

using Verdict = json::ValueScanner::Verdict;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The white space of JavaScript's trim(), as UTF-8.
constexpr std::string_view kTrimmed[] = {
    " ",
    "\t",
    "\n",
    "\r",
    "\v",
    "\f",
    "\xC2\xA0",
    "\xEF\xBB\xBF",
    "\xE1\x9A\x80",
    "\xE2\x80\x80",
    "\xE2\x80\x81",
    "\xE2\x80\x82",
    "\xE2\x80\x83",
    "\xE2\x80\x84",
    "\xE2\x80\x85",
    "\xE2\x80\x86",
    "\xE2\x80\x87",
    "\xE2\x80\x88",
    "\xE2\x80\x89",
    "\xE2\x80\x8A",
    "\xE2\x80\xA8",
    "\xE2\x80\xA9",
    "\xE2\x80\xAF",
    "\xE2\x81\x9F",
    "\xE3\x80\x80",
};

std::size_t line_end(std::string_view text, std::size_t from) {
  const std::size_t newline = text.find('\n', from);
  return newline == std::string_view::npos ? text.size() : newline;
}

}  // namespace

bool is_blank(std::string_view text) {
  while (!text.empty()) {
    bool is_trimmed = false;
    for (const std::string_view space : kTrimmed) {
      if (text.starts_with(space)) {
        text.remove_prefix(space.size());
        is_trimmed = true;
        break;
      }
    }
    if (!is_trimmed) {
      return false;
    }
  }
  return true;
}

std::size_t skip_bom(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

ReferenceReading read_leniently(std::string_view text, std::size_t begin) {
  ReferenceReading reading;
  std::size_t i = begin;
  for (;;) {
    while (i < text.size() && is_space(text[i])) {
      ++i;
    }
    if (i >= text.size()) {
      return reading;
    }
    const json::ValueEnd end = json::scan_value(text, i);
    if (end.verdict == Verdict::unfinished) {
      reading.malformed += is_blank(text.substr(i)) ? 0U : 1U;
      return reading;
    }
    std::size_t rest = i;
    if (end.verdict == Verdict::value) {
      reading.values.push_back({i, end.end - i});
      rest = end.end;
    }
    const std::size_t newline = line_end(text, rest);
    reading.malformed += is_blank(text.substr(rest, newline - rest)) ? 0U : 1U;
    i = newline;
  }
}

}  // namespace arborfs::fuzz
