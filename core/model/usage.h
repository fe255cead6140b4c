// Tokens and cost of a whole session (omp/FORMAT.md C24): the sum over all entries, on any branch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json/places.h"
#include "core/log/log_index.h"

namespace arborfs {

/// What one entry adds to each sum; NaN if the entry lacks the number that JavaScript would add.
struct Usage {
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cache_write = 0;
  double total_tokens = 0;
  double premium_requests = 0;
  double cost = 0;
  bool is_task = false;  // of a sub-agent, as omp's task tool reports it
};
/// The usage of an entry with the JSON text `raw`; nullopt if it has none, which is usually cheap to detect.
std::optional<Usage> find_usage(EntryType type, std::string_view raw);
/// The same for an entry that was indexed as Places.
std::optional<Usage> find_usage(EntryType type, const json::Places& entry);

/// Sums computed the way JavaScript does: a sum may be NaN, which is printed as null.
class UsageTotals {
 public:
  explicit UsageTotals(Dialect dialect) : dialect_(dialect) {}
  /// The dialect whose rules add() and json() follow from now on.
  void set_dialect(Dialect dialect) { dialect_ = dialect; }
  /// Adds the usage of an entry of that type.
  void add(EntryType type, const Usage& usage);
  /// The agents' object, as JSON text: {"input":1,...,"cost":0.25}; omp18 has more keys than omp13. `{}` for another
  /// agent's log that tells no usage.
  [[nodiscard]] std::string json() const;

 private:
  Dialect dialect_;
  bool is_empty_ = true;
  Usage sums_;     // by omp's rules
  Usage pi_sums_;  // by pi's (pi/FORMAT.md C10)
};

}  // namespace arborfs
