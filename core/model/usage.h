// Tokens and cost of a whole session (omp/FORMAT.md C24): all entries, whatever their branch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json/places.h"
#include "core/log/log_index.h"

namespace arborfs {

/// What one entry adds to each sum; NaN where it lacks what JavaScript would add.
struct Usage {
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cache_write = 0;
  double total_tokens = 0;
  double premium_requests = 0;
  double cost = 0;
};
/// Of an entry whose JSON value is `raw`. Entries that carry none are recognised cheaply.
std::optional<Usage> find_usage(EntryType type, std::string_view raw);
/// The same of one that was taken apart.
std::optional<Usage> find_usage(EntryType type, const json::Places& entry);

/// Sums as JavaScript adds them, so NaN is possible and printed as null.
class UsageTotals {
 public:
  explicit UsageTotals(Dialect dialect) : dialect_(dialect) {}
  /// By whose rules it adds and prints from now on.
  void set_dialect(Dialect dialect) { dialect_ = dialect; }
  /// Adds what an entry of that type used.
  void add(EntryType type, const Usage& usage);
  /// The agents' object, as JSON text: {"input":1,...,"cost":0.25}; 18 has more keys than 13.
  [[nodiscard]] std::string json() const;

 private:
  Dialect dialect_;
  Usage sums_;
};

}  // namespace arborfs
