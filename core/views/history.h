// The prompts that people typed: by day, and the files that show them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/single_flight.h"
#include "core/store/prompt_history.h"
#include "core/store/store_set.h"

namespace arborfs::history {

// The prompts that were typed to the agents of all stores, and those of them that have certain words. Any thread.

/// A prompt, and the agent that it was typed to.
struct Typed {
  std::string_view agent;
  Prompt prompt;
};

struct PromptQuery {
  std::vector<std::string> words;                                                  // all of them, folded (utf8.h)
  std::function<bool(const Prompt&)> passes = [](const Prompt&) { return true; };  // asked before the words
  std::size_t limit = 0;                                                           // 0 for all
};

/// What the histories say. A history that cannot be read does not hide the others.
struct Prompts {
  std::vector<Typed> found;   // newest first
  bool has_more = false;      // the limit left some out
  std::size_t histories = 0;  // how many were read
  std::vector<Error> unread;  // of the others; stores without a history are none
};
Prompts find_prompts(const std::vector<std::shared_ptr<Store>>& stores, const PromptQuery& wanted);

/// The words of a query, folded. A word may be part of a word of the prompt.
std::vector<std::string> words_of(std::string_view query);

// The typed prompts of all stores by the day on which they were typed, in the user's time zone, as texts. A summary
// keeps the texts of the newest days, which are those that change, and of the others only size and hash, so that a long
// history takes no memory. Any thread.

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

/// Newest first.
struct Days {
  std::vector<Day> days;
  bool are_whole = true;  // each history was read
};
/// The days that have prompts; none without a history. A history that cannot be read does not hide the others. Errors:
/// those of PromptHistory::read but not_found, if none can be read.
Result<Days> prompt_days(const StoreSet& stores);

/// The prompts of the day, newest first: for each a heading with time, agent (if several have a history), working
/// directory and session, and the text. Control characters are made visible. Errors: as prompt_days.
Result<std::string> text_of(const StoreSet& stores, const Day& day);

// The days that history/ shows. They serve requests until a history changes. Thread-safe; mutex_ is a leaf and is not
// held while a history is read.

struct ShownDay {
  Day day;
  std::uint32_t version = 0;  // differs where the texts differ; never reused
};

struct ShownDays {
  std::vector<ShownDay> days;                               // newest first
  std::vector<std::optional<PromptHistory::State>> states;  // of the histories, before they were read
  bool is_settled = false;  // the states were old when the reading began, and each history was read
  std::chrono::steady_clock::time_point begun;
  /// Null if the day has no prompt.
  [[nodiscard]] const ShownDay* find(std::uint32_t number) const;
};
using ShownDaysPtr = std::shared_ptr<const ShownDays>;

class RecentHistory {
 public:
  /// A commit shows in the stats of the files before it shows to a reader; so days that were read sooner than kSettles
  /// after a change serve only for kBriefly.
  static constexpr std::chrono::seconds kSettles{1};
  static constexpr std::chrono::milliseconds kBriefly{100};

  /// The last days; null if there are none.
  [[nodiscard]] ShownDaysPtr known() const;
  /// The same, if they still match the histories. Costs two stat calls for each.
  [[nodiscard]] ShownDaysPtr fresh(const StoreSet& stores) const;
  /// Fresh days; reads the histories if there are none, or waits for another thread that does. Errors: those of
  /// prompt_days; interrupted (cancelled, or no longer Wanted).
  Result<ShownDaysPtr> read(const StoreSet& stores);

 private:
  Result<ShownDaysPtr> run(const StoreSet& stores);
  ShownDaysPtr keep(ShownDays made, std::vector<Day> days);
  mutable std::mutex mutex_;
  ShownDaysPtr last_;               // guarded by mutex_
  std::uint32_t last_version_ = 0;  // guarded by mutex_
  SingleFlight readings_;
};

/// When the histories were written last, in nanoseconds since 1970; nothing if there is none.
std::optional<std::int64_t> written_ns(const StoreSet& stores);

}  // namespace arborfs::history
