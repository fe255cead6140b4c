// Dates as JavaScript reads and prints them (omp/FORMAT.md C15). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace arborfs::json {

/// new Date(text).getTime(): milliseconds since 1970 UTC; nullopt for NaN. Texts without a zone are local time
/// according to the TZ environment variable, but date-only ISO texts are UTC. Accepts what the agents' engine accepts:
/// ISO and the looser forms of the corpus ("Feb 16, 2026", "2026/02/16", RFC 2822).
std::optional<std::int64_t> parse_date(std::string_view text);

/// The same for a date that a user typed: also nullopt for a day that its month does not have, such as 2026-02-30,
/// which JavaScript reads as a day of the next month.
std::optional<std::int64_t> parse_calendar_date(std::string_view text);

/// toISOString(): 2026-02-16T10:20:30.000Z.
std::string iso_time(std::int64_t milliseconds);

}  // namespace arborfs::json
