#include "core/search/period.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/suggestion.h"
#include "core/entry/text.h"
#include "core/json/date.h"

namespace arborfs {
namespace {

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The local midnight that many days after the day of `date`.
std::int64_t midnight_after(const std::tm& date, int days) {
  std::tm at{};
  at.tm_year = date.tm_year;
  at.tm_mon = date.tm_mon;
  at.tm_mday = date.tm_mday + days;
  at.tm_isdst = -1;
  return std::int64_t{std::mktime(&at)} * 1000;
}

/// True if the word has this form, in which d is a digit.
bool has_form(std::string_view word, std::string_view form) {
  const auto fits = [](char c, char wanted) { return wanted == 'd' ? c >= '0' && c <= '9' : c == wanted; };
  return std::equal(word.begin(), word.end(), form.begin(), form.end(), fits);
}

/// The first midnight of the day, month or year that a word such as 2026-02-16, 2026-02 or 2026 names, or of the one
/// `later` after it; nothing for other words.
std::optional<std::int64_t> midnight(const std::string& word, int later) {
  const bool is_day = has_form(word, "dddd-dd-dd");
  const bool is_month = has_form(word, "dddd-dd");
  const bool is_year = has_form(word, "dddd");
  if (!(is_day || is_month || is_year) || !json::parse_calendar_date(word)) {
    return std::nullopt;
  }
  const std::string_view text = word;
  std::tm parts{};
  parts.tm_year = number_at(text.substr(0, 4)) - 1900 + (is_year ? later : 0);
  parts.tm_mon = is_year ? 0 : number_at(text.substr(5, 2)) - 1 + (is_month ? later : 0);
  parts.tm_mday = is_day ? number_at(text.substr(8, 2)) : 1;
  return midnight_after(parts, is_day ? later : 0);
}

/// In milliseconds; 0 if it is not a unit.
std::int64_t length_of(char unit) {
  constexpr std::int64_t kMinute = 60'000;
  constexpr std::int64_t kDay = 24 * 60 * kMinute;
  switch (unit) {
    case 'm':
      return kMinute;
    case 'h':
      return 60 * kMinute;
    case 'd':
      return kDay;
    case 'w':
      return 7 * kDay;
    case 'y':
      return 365 * kDay;
    default:
      return 0;
  }
}

/// The time that a word such as 3d means; nothing for other words.
std::optional<std::int64_t> ago(const std::string& word) {
  constexpr std::size_t kMostDigits = 5;
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  if (digits == 0 || digits > kMostDigits || digits + 1 != word.size() || length_of(word.back()) == 0) {
    return std::nullopt;
  }
  return now_ms() - number_at(std::string_view(word).substr(0, digits)) * length_of(word.back());
}

/// `this month`, `last-week` and the like, in words.
struct NamedPeriod {
  bool is_last = false;
  std::string_view unit;  // week, month, year
};
std::optional<NamedPeriod> named_period(std::string_view word) {
  const bool is_last = word.starts_with("last");
  if ((!is_last && !word.starts_with("this")) || word.size() < 6 || (word[4] != ' ' && word[4] != '-')) {
    return std::nullopt;
  }
  const std::string_view unit = word.substr(5);
  const bool is_known = unit == "week" || unit == "month" || unit == "year";
  return is_known ? std::optional(NamedPeriod{is_last, unit}) : std::nullopt;
}

/// The first midnight of the period, or of the one `later` after it. Weeks begin on Mondays.
std::int64_t midnight_of(const NamedPeriod& period, std::tm date, int later) {
  constexpr int kWeek = 7;
  const int steps = later - (period.is_last ? 1 : 0);
  if (period.unit == "week") {
    return midnight_after(date, steps * kWeek - (date.tm_wday + kWeek - 1) % kWeek);
  }
  date.tm_mday = 1;
  date.tm_mon = period.unit == "year" ? 0 : date.tm_mon + steps;
  date.tm_year += period.unit == "year" ? steps : 0;
  return midnight_after(date, 0);
}

/// The beginning of the day, week, month or year that a word means, or of the one `later` after it; else the moment
/// that it means.
std::optional<std::int64_t> time_of(const std::string& word, int later) {
  const auto period = named_period(word);
  if (period || word == "today" || word == "yesterday") {
    const std::time_t now = std::time(nullptr);
    std::tm date{};
    if (::localtime_r(&now, &date) == nullptr) {
      return std::nullopt;
    }
    return period ? midnight_of(*period, date, later) : midnight_after(date, later - (word == "today" ? 0 : 1));
  }
  if (const auto day = midnight(word, later)) {
    return day;
  }
  const auto moment = ago(word);
  return moment ? moment : json::parse_calendar_date(word);
}

}  // namespace

std::optional<std::int64_t> start_of(const std::string& word) {
  return time_of(word, 0);
}

std::optional<std::int64_t> end_of(const std::string& word) {
  return time_of(word, 1);
}

std::string no_time(const std::string& word) {
  constexpr std::size_t kShown = 80;
  static const std::vector<std::string> kWords{"today",      "yesterday",  "this-week", "last-week",
                                               "this-month", "last-month", "this-year", "last-year"};
  return "'" + visible_line(word, kShown) +
         "' is not a date such as 2026-02-16, or a time such as yesterday, 12h, 3d, 2w, \"this week\" or \"last "
         "month\"" +
         did_you_mean(nearest(word, kWords));
}

}  // namespace arborfs
