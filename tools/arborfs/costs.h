// What the marks at costs in tables mean.
#pragma once

#include "core/views/stats.h"
#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

/// Says on standard error, below a table, what the marks of stats::cost_words() mean, if a cost among those of which
/// `total` is the sum has any.
void explain_costs(const stats::Row& total, Terminal& io);

}  // namespace arborfs::cli
