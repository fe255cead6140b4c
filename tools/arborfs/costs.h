// Costs in tables, and what the marks at them mean.
#pragma once

#include <string>

#include "core/views/stats.h"
#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

/// "0.0312", "1.25"; "-" if nothing has a cost; "~1.25" if some of it is computed from prices, "1.25+" if some messages
/// have none.
std::string cost_words(const stats::Row& row);
/// Says on standard error, below a table, what these marks mean, if a cost among those of which `total` is the sum has
/// any.
void explain_costs(const stats::Row& total, Terminal& io);

}  // namespace arborfs::cli
