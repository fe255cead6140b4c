// The date formats other than ISO that JavaScriptCore accepts, and local time. Any thread; local time reads TZ.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace arborfs::json {

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

/// "Mon, 16 Feb 2026 10:20:30 GMT", "Feb 16, 2026", "2026/02/16", "02/16/2026" and similar forms.
std::optional<CivilTime> parse_loose_date(std::string_view text);

/// How far local time is ahead of UTC when the local clock shows `local_seconds` (counted as if it were UTC).
std::int64_t local_offset_seconds(std::int64_t local_seconds);

}  // namespace arborfs::json
