// The days and times that --since and --until name: a date without a time, `today` and `yesterday` mean a day in the
// user's time zone, and 30m, 12h, 3d, 2w or 1y mean that long ago. Reads the clock; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace arborfs::cli {

/// In milliseconds since 1970, the time or the beginning of the day. Nothing for other words.
std::optional<std::int64_t> start_of(const std::string& word);
/// The time, or the end of the day.
std::optional<std::int64_t> end_of(const std::string& word);

}  // namespace arborfs::cli
