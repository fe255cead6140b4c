// The sums that the files of stats/ show. They serve requests until the catalog publishes a change or kFresh has
// passed, and requests at the same time share them. Thread-safe; mutex_ is a leaf and is not held while logs are read.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/single_flight.h"
#include "core/session/catalog.h"
#include "core/stats/stats.h"

namespace arborfs::stats {

/// The groupings of the files, in the order of their listing.
inline constexpr std::array kShown{By::day, By::project, By::model, By::agent};

struct ShownStats {
  std::uint32_t version = 0;                     // differs where the texts differ; never reused
  std::array<std::string, kShown.size()> texts;  // as kShown
  std::int64_t made_ns = 0;                      // of this version
  std::uint64_t sequence = 0;                    // of the change feed before the logs were read
  std::chrono::steady_clock::time_point begun;
  std::chrono::steady_clock::time_point ended;
};
using ShownStatsPtr = std::shared_ptr<const ShownStats>;

class RecentStats {
 public:
  static constexpr std::chrono::seconds kFresh{1};

  /// The last sums; null if there are none.
  [[nodiscard]] ShownStatsPtr known() const;
  /// The same, if they still match the logs.
  [[nodiscard]] ShownStatsPtr fresh(Catalog& catalog) const;
  /// Fresh sums; reads all logs if there are none, or waits for another thread that does. Errors: interrupted
  /// (`cancelled`, or no longer Wanted).
  Result<ShownStatsPtr> sum_up(Catalog& catalog, const std::atomic<bool>* cancelled);

 private:
  Result<ShownStatsPtr> run(Catalog& catalog, const std::atomic<bool>* cancelled);
  ShownStatsPtr keep(ShownStats made);
  mutable std::mutex mutex_;
  ShownStatsPtr last_;              // guarded by mutex_
  std::uint32_t last_version_ = 0;  // guarded by mutex_
  SingleFlight sums_;
};

}  // namespace arborfs::stats
