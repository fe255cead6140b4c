// Tokens and cost of a whole session (FACTS C24): all entries, whatever their branch.
#pragma once

#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

/// Sums as JavaScript adds them, so NaN is possible and printed as null.
class UsageTotals {
 public:
  explicit UsageTotals(Flavour flavour) : flavour_(flavour) {}
  /// Adds one entry. `raw` is its JSON value; entries that carry no usage are recognised cheaply.
  void add(EntryType type, std::string_view raw);
  /// The agents' object, as JSON text: {"input":1,...,"cost":0.25}; 18 has more keys than 13.
  [[nodiscard]] std::string json() const;

 private:
  Flavour flavour_;
  double input_ = 0;
  double output_ = 0;
  double cache_read_ = 0;
  double cache_write_ = 0;
  double total_tokens_ = 0;
  double premium_requests_ = 0;
  double cost_ = 0;
};

}  // namespace arborfs
