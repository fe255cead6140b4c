// The days and times that --since, --until, --in and the filters of a query name: a date without a time, `today`,
// `yesterday`, `this week`, `last month` and the like mean a day, or a part of the calendar, in the user's time zone,
// also with a hyphen; 30m, 12h, 3d, 2w or 1y mean that long ago. Reads the clock; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace arborfs {

/// In milliseconds since 1970, the time or the beginning of the day. Nothing for other words.
std::optional<std::int64_t> start_of(const std::string& word);
/// The time, or the end of the day, week, month or year.
std::optional<std::int64_t> end_of(const std::string& word);
/// The complaint about a word that is no time: a sentence for people, with the word that was probably meant.
std::string no_time(const std::string& word);

}  // namespace arborfs
