#include "core/json/loose_date.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "core/json/text_bytes.h"

namespace arborfs::json {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool is_blank(char c) {
  return is_space(c) || c == '\v' || c == '\f';
}

bool starts_with_word(std::string_view text, std::string_view lower_word) {
  if (text.size() < lower_word.size()) {
    return false;
  }
  for (std::size_t i = 0; i < lower_word.size(); ++i) {
    if (lower(text[i]) != lower_word[i]) {
      return false;
    }
  }
  return true;
}

std::optional<int> month_of(std::string_view word) {
  constexpr std::string_view kMonths = "janfebmaraprmayjunjulaugsepoctnovdec";
  for (int i = 0; i < 12; ++i) {
    if (starts_with_word(word, kMonths.substr(static_cast<std::size_t>(i) * 3, 3))) {
      return i + 1;
    }
  }
  return std::nullopt;
}

// Follows JavaScriptCore's parser for RFC 2822 dates and their common variants on the web.
class Loose {
 public:
  explicit Loose(std::string_view text) : rest_(text) {}

  std::optional<CivilTime> run();

 private:
  void skip_blanks();
  void leading_words();
  bool day_month_year();
  bool year_first(int year);
  bool month_first();
  bool day_then_month();
  bool clock();
  bool half_of_day();
  bool zone();
  bool numeric_zone();
  bool late_year();
  bool number(int& value);
  bool take(char c);
  bool take_word(std::string_view lower_word);

  std::string_view rest_;
  CivilTime time_;
  std::optional<int> month_;
  std::optional<int> year_;
};

std::optional<CivilTime> Loose::run() {
  time_.offset_minutes.reset();
  leading_words();
  if (!day_month_year() || !clock() || !late_year() || !zone() || !late_year() || !rest_.empty()) {
    return std::nullopt;
  }
  if (month_ < 1 || month_ > 12) {
    return std::nullopt;
  }
  time_.month = *month_;
  time_.year = year_.value_or(2000);
  if (time_.year >= 0 && time_.year < 100) {
    time_.year += time_.year < 50 ? 2000 : 1900;
  }
  return time_;
}

// White space and parenthesised comments.
void Loose::skip_blanks() {
  int depth = 0;
  while (!rest_.empty() && (depth > 0 || is_blank(rest_.front()) || rest_.front() == '(')) {
    depth += rest_.front() == '(' ? 1 : rest_.front() == ')' ? -1 : 0;
    rest_.remove_prefix(1);
  }
}

// The words before the first number; one of them may name the month.
void Loose::leading_words() {
  skip_blanks();
  std::string_view word = rest_;
  while (!rest_.empty() && !is_digit(rest_.front())) {
    if (!is_blank(rest_.front()) && rest_.front() != '(') {
      rest_.remove_prefix(1);
      continue;
    }
    if (word.size() - rest_.size() >= 3) {
      month_ = month_of(word);
    }
    skip_blanks();
    word = rest_;
  }
  if (!month_ && word.size() != rest_.size()) {
    month_ = month_of(word);
  }
}

bool Loose::day_month_year() {
  int first = 0;
  if (!number(first)) {
    return false;
  }
  if (first > 31) {
    return year_first(first);
  }
  time_.day = first;
  if (!rest_.empty() && rest_.front() == '/' && !month_) {
    return month_first();
  }
  return day_then_month();
}

// 2026/2/16 or 2026-2-16
bool Loose::year_first(int year) {
  year_ = year;
  const char separator = rest_.empty() ? '\0' : rest_.front();
  int month = 0;
  if ((separator != '/' && separator != '-') || !take(separator) || !number(month) || !take(separator) ||
      !number(time_.day) || time_.day < 1 || time_.day > 31) {
    return false;
  }
  month_ = month;
  return true;
}

// 2/16/2026
bool Loose::month_first() {
  month_ = time_.day;
  take('/');
  if (!number(time_.day) || time_.day < 1 || time_.day > 31) {
    return false;
  }
  take('/');
  int year = 0;
  if (!number(year)) {
    return false;
  }
  year_ = year;
  return true;
}

// 16 Feb 2026, 16-Feb-26 or, if the month is already known, 16, 2026
bool Loose::day_then_month() {
  take('-');
  skip_blanks();
  take(',');
  skip_blanks();
  if (!month_) {
    month_ = month_of(rest_);
    while (!rest_.empty() && rest_.front() != '-' && rest_.front() != ',' && !is_blank(rest_.front())) {
      rest_.remove_prefix(1);
    }
    if (!month_ || rest_.empty()) {
      return false;
    }
    rest_.remove_prefix(1);
    skip_blanks();
  }
  const std::string_view before = rest_;
  if (int year = 0; !rest_.empty()) {
    if (!number(year)) {
      return false;
    }
    year_ = year;
  }
  if (!rest_.empty() && rest_.front() == ':') {  // that was the hour; the year may follow the time
    year_.reset();
    rest_ = before;
  }
  return true;
}

bool Loose::clock() {
  const bool separated = rest_.empty() || is_blank(rest_.front()) || rest_.front() == ',';
  const bool hour_follows = !rest_.empty() && is_digit(rest_.front());
  if (!separated && !hour_follows) {
    return false;
  }
  take(',');
  skip_blanks();
  if (rest_.empty() || !is_digit(rest_.front())) {
    return true;
  }
  if (!number(time_.hour) || time_.hour > 23 || !take(':') || !number(time_.minute) || time_.minute > 59) {
    return false;
  }
  if (take(':')) {
    if (!number(time_.second) || time_.second > 59) {
      return false;
    }
  } else if (!rest_.empty() && !is_blank(rest_.front())) {
    return false;
  }
  skip_blanks();
  return half_of_day();
}

bool Loose::half_of_day() {
  const bool afternoon = take_word("pm");
  if (!afternoon && !take_word("am")) {
    return true;
  }
  if (time_.hour > 12) {
    return false;
  }
  time_.hour = time_.hour % 12 + (afternoon ? 12 : 0);
  skip_blanks();
  return true;
}

bool Loose::zone() {
  if (take_word("gmt") || take_word("utc")) {
    time_.offset_minutes = 0;
  }
  if (!rest_.empty() && (rest_.front() == '+' || rest_.front() == '-')) {
    return numeric_zone();
  }
  constexpr std::array<std::pair<std::string_view, int>, 10> kZones = {{{"ut", 0},
                                                                        {"z", 0},
                                                                        {"est", -300},
                                                                        {"edt", -240},
                                                                        {"cst", -360},
                                                                        {"cdt", -300},
                                                                        {"mst", -420},
                                                                        {"mdt", -360},
                                                                        {"pst", -480},
                                                                        {"pdt", -420}}};
  for (const auto& [name, offset] : kZones) {
    if (take_word(name)) {
      time_.offset_minutes = offset;
      break;
    }
  }
  skip_blanks();
  return true;
}

// +5, +0530, +05:30
bool Loose::numeric_zone() {
  const int sign = take('-') ? -1 : 1;
  if (sign > 0) {
    take('+');
  }
  int hours = 0;
  int minutes = 0;
  if (!number(hours) || hours > 9959) {
    return false;
  }
  if (take(':')) {
    if (!number(minutes)) {
      return false;
    }
  } else if (hours >= 24) {
    minutes = hours % 100;
    hours /= 100;
  }
  time_.offset_minutes = sign * (hours * 60 + minutes);
  skip_blanks();
  return true;
}

// The year may follow the time or the zone.
bool Loose::late_year() {
  if (year_ || rest_.empty() || !is_digit(rest_.front())) {
    return true;
  }
  int year = 0;
  if (!number(year)) {
    return false;
  }
  year_ = year;
  skip_blanks();
  return true;
}

bool Loose::number(int& value) {
  constexpr int kLimit = 100'000'000;
  std::size_t digits = 0;
  for (value = 0; digits < rest_.size() && is_digit(rest_[digits]); ++digits) {
    if (value >= kLimit) {
      return false;
    }
    value = value * 10 + (rest_[digits] - '0');
  }
  rest_.remove_prefix(digits);
  return digits > 0;
}

bool Loose::take(char c) {
  if (rest_.empty() || rest_.front() != c) {
    return false;
  }
  rest_.remove_prefix(1);
  return true;
}

bool Loose::take_word(std::string_view lower_word) {
  if (!starts_with_word(rest_, lower_word)) {
    return false;
  }
  rest_.remove_prefix(lower_word.size());
  return true;
}

}  // namespace

std::optional<CivilTime> parse_loose_date(std::string_view text) {
  return Loose(text).run();
}

std::int64_t local_offset_seconds(std::int64_t local_seconds) {
  std::tm broken{};
  const std::time_t as_utc = local_seconds;
  if (gmtime_r(&as_utc, &broken) == nullptr) {
    return 0;
  }
  broken.tm_isdst = -1;
  const std::time_t utc = std::mktime(&broken);  // reads TZ itself, under the C library's lock
  return local_seconds - utc;
}

}  // namespace arborfs::json
