#include "tools/arborfs/costs.h"

#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/views/prices.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kProblemCharacters = 4096;

}  // namespace

void explain_costs(const stats::Row& total, Terminal& io) {
  const PricesPtr prices = Prices::in_force();
  if (!prices->problem().empty()) {
    io.err << "arborfs: " << visible_line(prices->problem(), kProblemCharacters) << "\n";
  }
  if (total.computed > 0) {
    io.err << "arborfs: ~ marks a cost that is computed by list prices of " << date_of_prices();
    io.err << (prices->own().empty() ? "" : " and those of " + visible_line(prices->own(), kProblemCharacters)) << "\n";
  }
  if (total.without_cost > 0) {
    io.err << "arborfs: " << (total.has_partial_cost() ? "+ leaves out " : "") << counted(total.without_cost, "message")
           << " without a price\n";
  }
}

}  // namespace arborfs::cli
