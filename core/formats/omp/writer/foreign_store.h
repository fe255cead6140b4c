// The store that new sessions go to, and whose format they have there: each of omp and pi would misread the other's
// logs. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/formats/omp/log/dialect.h"
#include "core/session/catalog.h"

namespace arborfs {

/// Tells from the logs of a store whether it takes omp's. Errors: read_only if pi's logs were found and none of omp, or
/// if it is pi's and empty. Only the most recently changed logs are searched for pi's.
Result<void> check_takes_logs(const Catalog& catalog, std::uint8_t store);

struct NewLogs {
  std::uint8_t store = 0;
  Dialect dialect = Dialect::omp13;
};
/// For "omp" the first store of omp, if it takes logs; for "pi" that of pi, a session dir before an agent dir, as pi
/// does (pi/FORMAT.md A2), or a store of omp with logs of pi. For "" the store of omp or of pi, depending on whose logs
/// exist, or that of pi if omp has no folder. Errors: read_only.
Result<NewLogs> store_for_new_logs(const Catalog& catalog, std::string_view agent);

}  // namespace arborfs
