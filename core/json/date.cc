#include "core/json/date.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "core/json/text_bytes.h"

namespace arborfs::json {
namespace {

// The date formats other than ISO that JavaScriptCore accepts, and local time. Any thread; local time reads TZ.

/// A date as written. The day may be past the end of its month.
struct CivilTime {
  int year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millisecond = 0;
  std::optional<int> offset_minutes = 0;  // nullopt: local time
};

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

  std::optional<CivilTime> run() {
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

 private:
  // White space and parenthesised comments.
  void skip_blanks() {
    int depth = 0;
    while (!rest_.empty() && (depth > 0 || is_blank(rest_.front()) || rest_.front() == '(')) {
      depth += rest_.front() == '(' ? 1 : rest_.front() == ')' ? -1 : 0;
      rest_.remove_prefix(1);
    }
  }

  // The words before the first number; one of them may name the month.
  void leading_words() {
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

  bool day_month_year() {
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
  bool year_first(int year) {
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
  bool month_first() {
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
  bool day_then_month() {
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

  bool clock() {
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

  bool half_of_day() {
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

  bool zone() {
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
  bool numeric_zone() {
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
  bool late_year() {
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

  bool number(int& value) {
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

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  bool take_word(std::string_view lower_word) {
    if (!starts_with_word(rest_, lower_word)) {
      return false;
    }
    rest_.remove_prefix(lower_word.size());
    return true;
  }

  std::string_view rest_;
  CivilTime time_;
  std::optional<int> month_;
  std::optional<int> year_;
};

/// "Mon, 16 Feb 2026 10:20:30 GMT", "Feb 16, 2026", "2026/02/16", "02/16/2026" and similar forms.
std::optional<CivilTime> parse_loose_date(std::string_view text) {
  return Loose(text).run();
}

/// How far local time is ahead of UTC when the local clock shows `local_seconds` (counted as if it were UTC).
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

constexpr std::int64_t kMaxTime = 8'640'000'000'000'000;  // ECMAScript's date range in ms, either side of 1970

// Reads a text from left to right, field by field.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }

  bool take(std::string_view any_of, char* taken = nullptr) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) {
      return false;
    }
    if (taken != nullptr) {
      *taken = rest_.front();
    }
    rest_.remove_prefix(1);
    return true;
  }

  // Exactly `width` digits.
  bool number(std::size_t width, int& value) {
    if (count_digits() < width) {
      return false;
    }
    value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(width);
    return true;
  }

  // One or more digits after a decimal point, truncated to milliseconds.
  bool milliseconds(int& value) {
    const std::size_t digits = count_digits();
    value = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      value = value * 10 + (i < digits ? rest_[i] - '0' : 0);
    }
    rest_.remove_prefix(digits);
    return digits > 0;
  }

 private:
  std::size_t count_digits() const {
    std::size_t digits = 0;
    while (digits < rest_.size() && is_digit(rest_[digits])) {
      ++digits;
    }
    return digits;
  }

  std::string_view rest_;
};

bool read_year(Fields& fields, int& year) {
  char sign = '+';
  if (!fields.take("+-", &sign)) {
    return fields.number(4, year);
  }
  if (!fields.number(6, year) || (sign == '-' && year == 0)) {
    return false;
  }
  year = sign == '-' ? -year : year;
  return true;
}

// YYYY[-MM[-DD]]
bool read_day(Fields& fields, CivilTime& time) {
  if (!read_year(fields, time.year)) {
    return false;
  }
  if (!fields.take("-")) {
    return true;
  }
  if (!fields.number(2, time.month)) {
    return false;
  }
  return !fields.take("-") || fields.number(2, time.day);
}

// Z, +HH:MM, +HHMM, +HH, or nothing for local time.
bool read_zone(Fields& fields, CivilTime& time) {
  if (fields.take("Zz")) {
    time.offset_minutes = 0;
    return true;
  }
  char sign = '+';
  if (!fields.take("+-", &sign)) {
    return true;
  }
  int hours = 0;
  int minutes = 0;
  if (!fields.number(2, hours)) {
    return false;
  }
  const bool has_minutes = fields.take(":") || !fields.done();
  if ((has_minutes && !fields.number(2, minutes)) || hours > 24 || minutes > 59) {
    return false;
  }
  const int offset = hours * 60 + minutes;
  time.offset_minutes = sign == '-' ? -offset : offset;
  return true;
}

// HH:MM[:SS[.s…]][zone]
bool read_clock(Fields& fields, CivilTime& time) {
  if (!fields.number(2, time.hour) || !fields.take(":") || !fields.number(2, time.minute)) {
    return false;
  }
  if (fields.take(":")) {
    if (!fields.number(2, time.second) || (fields.take(".") && !fields.milliseconds(time.millisecond))) {
      return false;
    }
  }
  return read_zone(fields, time);
}

std::optional<CivilTime> parse_iso(std::string_view text) {
  Fields fields(text);
  CivilTime time;
  if (!read_day(fields, time)) {
    return std::nullopt;
  }
  if (fields.take("Tt ")) {
    time.offset_minutes.reset();
    if (!read_clock(fields, time)) {
      return std::nullopt;
    }
  }
  const bool past_midnight = time.hour == 24 && (time.minute > 0 || time.second > 0 || time.millisecond > 0);
  if (!fields.done() || time.month < 1 || time.month > 12 || time.day < 1 || time.day > 31 || time.hour > 24 ||
      past_midnight || time.minute > 59 || time.second > 59) {
    return std::nullopt;
  }
  return time;
}

std::optional<CivilTime> parse_civil(std::string_view text) {
  const auto time = parse_iso(text);
  return time ? time : parse_loose_date(text);
}

/// A day of the month of the time. chrono's years end at 32767; the calendar repeats every 400 years.
std::chrono::year_month_day day_in_month(const CivilTime& time, int day) {
  return {std::chrono::year(time.year % 400 + 2000), std::chrono::month(static_cast<unsigned>(time.month)),
          std::chrono::day(static_cast<unsigned>(day))};
}

std::int64_t days_since_epoch(const CivilTime& time) {
  const int cycles = time.year / 400;  // of 146097 days
  const std::chrono::sys_days first(day_in_month(time, 1));
  return first.time_since_epoch().count() + (cycles - 5) * std::int64_t{146097} + time.day - 1;
}

std::optional<std::int64_t> to_milliseconds(const CivilTime& time) {
  constexpr int kMaxYear = 400'000;  // far beyond kMaxTime, and safe to calculate with
  if (time.year > kMaxYear || time.year < -kMaxYear) {
    return std::nullopt;
  }
  std::int64_t seconds = ((days_since_epoch(time) * 24 + time.hour) * 60 + time.minute) * 60 + time.second;
  seconds -= time.offset_minutes ? std::int64_t{*time.offset_minutes} * 60 : local_offset_seconds(seconds);
  const std::int64_t milliseconds = seconds * 1000 + time.millisecond;
  if (milliseconds > kMaxTime || milliseconds < -kMaxTime) {
    return std::nullopt;
  }
  return milliseconds;
}

/// At least `width` digits, and what follows them.
void append_digits(std::int64_t number, std::size_t width, char after, std::string& out) {
  const std::string digits = std::to_string(number);
  out.append(width - std::min(width, digits.size()), '0');
  (out += digits) += after;
}

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text) {
  const auto time = parse_civil(text);
  return time ? to_milliseconds(*time) : std::nullopt;
}

std::optional<std::int64_t> parse_calendar_date(std::string_view text) {
  const auto time = parse_civil(text);
  return time && day_in_month(*time, time->day).ok() ? to_milliseconds(*time) : std::nullopt;
}

std::string iso_time(std::int64_t milliseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(milliseconds)};
  const sys_days days = floor<std::chrono::days>(time);
  const hh_mm_ss clock(time - days);
  // As in days_since_epoch: move into the first years of the calendar cycle that chrono can name.
  const std::int64_t cycles = (days.time_since_epoch().count() + 719'468) / 146'097;
  const year_month_day date(days - std::chrono::days((cycles - 5) * 146'097));
  const auto year = static_cast<long>(static_cast<int>(date.year()) + (cycles - 5) * 400);
  std::string text;
  text.reserve(sizeof "+000000-00-00T00:00:00.000Z");
  const bool is_long = year < 0 || year > 9999;
  text += year < 0 ? "-" : year > 9999 ? "+" : "";
  append_digits(std::labs(year), is_long ? 6 : 4, '-', text);
  append_digits(static_cast<unsigned>(date.month()), 2, '-', text);
  append_digits(static_cast<unsigned>(date.day()), 2, 'T', text);
  append_digits(clock.hours().count(), 2, ':', text);
  append_digits(clock.minutes().count(), 2, ':', text);
  append_digits(clock.seconds().count(), 2, '.', text);
  append_digits(clock.subseconds().count(), 3, 'Z', text);
  return text;
}

}  // namespace arborfs::json
