// The days that history/ shows. They serve requests until a history changes. Thread-safe; mutex_ is a leaf and is not
// held while a history is read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/single_flight.h"
#include "core/history/prompt_days.h"

namespace arborfs::history {

struct ShownDay {
  Day day;
  std::uint32_t version = 0;  // differs where the texts differ; never reused
};

struct ShownDays {
  std::vector<ShownDay> days;                               // newest first
  std::vector<std::optional<PromptHistory::State>> states;  // of the histories, before they were read
  bool is_settled = false;                                  // the states were old when the reading began
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
  /// prompt_days; interrupted (`cancelled`, or no longer Wanted).
  Result<ShownDaysPtr> read(const StoreSet& stores, const std::atomic<bool>* cancelled);

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
