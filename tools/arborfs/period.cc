#include "tools/arborfs/period.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>

#include "core/json/date.h"

namespace arborfs::cli {
namespace {

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Midnight so many days after the day that a word such as 2026-02-16 names; nothing for other words.
std::optional<std::int64_t> midnight(const std::string& word, int days_after) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  const auto fits = [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; };
  if (!std::equal(word.begin(), word.end(), kForm.begin(), kForm.end(), fits) || !json::parse_date(word)) {
    return std::nullopt;
  }
  std::tm parts{};
  parts.tm_year = number_at(std::string_view(word).substr(0, 4)) - 1900;
  parts.tm_mon = number_at(std::string_view(word).substr(5, 2)) - 1;
  parts.tm_mday = number_at(std::string_view(word).substr(8, 2)) + days_after;
  parts.tm_isdst = -1;
  return std::int64_t{std::mktime(&parts)} * 1000;
}

}  // namespace

std::optional<std::int64_t> start_of(const std::string& word) {
  const auto day = midnight(word, 0);
  return day ? day : json::parse_date(word);
}

std::optional<std::int64_t> end_of(const std::string& word) {
  const auto day = midnight(word, 1);
  return day ? day : json::parse_date(word);
}

}  // namespace arborfs::cli
