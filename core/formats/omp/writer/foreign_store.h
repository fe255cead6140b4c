// The store for new sessions, and their format there: omp and pi would each misread the other's logs. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/formats/omp/log/dialect.h"
#include "core/session/catalog.h"

namespace arborfs {

/// Checks from the logs of a store whether it accepts logs of omp. Errors: read_only if it has logs of pi and none of
/// omp, or if it is pi's and empty. Only the most recently changed logs are examined.
Result<void> check_takes_logs(const Catalog& catalog, std::uint8_t store);

struct NewLogs {
  std::uint8_t store = 0;
  Dialect dialect = Dialect::omp13;
};
/// For "omp" the first store of omp, if it accepts logs; for "pi" that of pi, a session dir before an agent dir, as pi
/// does (pi/FORMAT.md A2), or a store of omp with logs of pi. For "" the store of omp or of pi, depending on whose logs
/// exist, or that of pi if omp has no folder. Errors: read_only.
Result<NewLogs> store_for_new_logs(const Catalog& catalog, std::string_view agent);

}  // namespace arborfs
