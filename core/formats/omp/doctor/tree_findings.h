// Finds faults in the tree of a log's entries: parents, ids, labels, references, the leaf. Changes nothing.
#pragma once

#include <vector>

#include "core/formats/omp/doctor/finding.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs {

/// Finds orphans, duplicate ids, cycles, and labels on missing entries. The caller holds the session's guard.
void find_in_tree(const LogIndex& index, std::vector<Finding>& found);

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
