// The typed prompts of all stores by the day on which they were typed, in the user's time zone, as texts. A summary
// keeps the texts of the newest days, which are those that change, and of the others only size and hash, so that a long
// history takes no memory. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/prompt_history.h"
#include "core/store/store_set.h"

namespace arborfs::history {

struct Day {
  std::uint32_t number = 0;                 // days since 1970
  PromptHistory::Span span;                 // of its prompts
  std::int64_t mtime_s = 0;                 // of its last prompt
  std::uint64_t size = 0;                   // of its text
  std::uint64_t hash = 0;                   // of its text
  std::shared_ptr<const std::string> text;  // null if it was not kept
};

/// How many bytes of the newest days' texts prompt_days() keeps.
inline constexpr std::size_t kMostKeptText = std::size_t{1} << 20U;
/// The same of the newest day alone, which changes whenever a prompt is typed: to read it again might never find the
/// text that its size and hash are of.
inline constexpr std::size_t kMostNewestText = std::size_t{16} << 20U;

/// 2026-02-16.
std::string name_of_day(std::uint32_t number);
/// The number of the day with this name; nothing for other words.
std::optional<std::uint32_t> day_named(std::string_view name);

/// The days that have prompts, newest first; none without a history. A history that cannot be read does not hide the
/// others. Errors: those of PromptHistory::read but not_found, if none can be read.
Result<std::vector<Day>> prompt_days(const StoreSet& stores);

/// The prompts of the day, newest first: for each a heading with time, working directory and session, and the text.
/// Control characters are made visible. Errors: as prompt_days.
Result<std::string> text_of(const StoreSet& stores, const Day& day);

}  // namespace arborfs::history
