// Whether a store is another agent's than omp's, by what its logs say: omp's logs in it would be misread there. Any
// thread.
#pragma once

#include "core/session/catalog.h"

namespace arborfs {

/// Errors: read_only where logs of pi were found and none of omp; those are looked at first that changed last.
Result<void> check_takes_logs(const Catalog& catalog);

}  // namespace arborfs
