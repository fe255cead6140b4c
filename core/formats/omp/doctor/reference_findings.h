// Finds faults of omp's logs in references between entries, and in the leaf. Changes nothing.
#pragma once

#include <vector>

#include "core/session/catalog.h"
#include "core/session/session.h"
#include "core/store/finding.h"

namespace arborfs {

/// Finds compactions and branch summaries whose content refers to an entry that the log does not have.
void find_in_references(const Session& session, const LogSource& log, std::vector<Finding>& found);

/// Returns the newest message if agents would continue without it: the log's last entry is only bookkeeping, and the
/// newest message is not among its ancestors (FAILURES.md F6). Otherwise kNoEntry.
Ordinal message_behind_dead_end(const LogIndex& index);
/// The same, but kNoEntry if arborfs wrote the last entry: then the leaf was moved on purpose.
Ordinal message_behind_dead_end(const Session& session, const Catalog& catalog);
/// Finds a leaf at a dead end.
void find_dead_end(const Session& session, const Catalog& catalog, std::vector<Finding>& found);

}  // namespace arborfs
