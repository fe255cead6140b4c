#include "tools/arborfs/costs.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/words.h"
#include "core/views/prices.h"

namespace arborfs::cli {

std::string cost_words(const stats::Row& row) {
  const double cost = row.usage.cost;
  return std::isnan(cost) ? "-"
                          : fmt::format("{}{:.{}f}{}", row.computed_cost > 0 ? "~" : "", cost, cost < 1 ? 4 : 2,
                                        row.has_partial_cost() ? "+" : "");
}

void explain_costs(const stats::Row& total, Terminal& io) {
  if (total.computed_cost > 0) {
    io.err << "arborfs: ~ marks a cost that is computed by list prices of " << date_of_prices() << "\n";
  }
  if (total.without_cost > 0) {
    io.err << "arborfs: + leaves out " << counted(total.without_cost, "message") << " without a price\n";
  }
}

}  // namespace arborfs::cli
