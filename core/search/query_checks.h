// Whether the values of a query's filters name something that exists: a misspelled one would find nothing. Thread-safe.
#pragma once

#include <atomic>

#include "core/search/query/query.h"
#include "core/session/catalog.h"

namespace arborfs::search {

/// Fails if the query names an agent of which no store is open and no session is shown. Errors: invalid_argument, with
/// the agents of the open stores.
Result<void> check_agent(const Catalog& catalog, const Query& query);

/// Fails if the query names a role that no entry has; only sessions of the query's agent count. Reads their indexes
/// until one has the role. Errors: invalid_argument, with the roles that there are; interrupted once `cancelled` is
/// true.
Result<void> check_role(const Catalog& catalog, const Query& query, const std::atomic<bool>* cancelled = nullptr);

}  // namespace arborfs::search
