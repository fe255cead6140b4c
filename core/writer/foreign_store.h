// Detects, from its logs, a store of another agent than omp, which would misread omp's logs. Any thread.
#pragma once

#include "core/session/catalog.h"

namespace arborfs {

/// Errors: read_only if pi's logs were found and none of omp. Only the most recently changed logs are searched for
/// pi's.
Result<void> check_takes_logs(const Catalog& catalog);

}  // namespace arborfs
