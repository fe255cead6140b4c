// The store that new sessions go to. They are in omp's format, which other agents would misread. Any thread.
#pragma once

#include "core/session/catalog.h"

namespace arborfs {

/// Tells from the logs of a store whether it takes omp's. Errors: read_only if pi's logs were found and none of omp, or
/// if it is pi's and empty. Only the most recently changed logs are searched for pi's.
Result<void> check_takes_logs(const Catalog& catalog, std::uint8_t store);

/// The number of the first store of omp, if it takes logs. Errors: read_only.
Result<std::uint8_t> store_for_new_logs(const Catalog& catalog);

}  // namespace arborfs
