#include "core/json/date.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/json/loose_date.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {
namespace {

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
