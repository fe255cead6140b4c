// Finds faults of a session of omp or pi, in plain words. Changes nothing. Any thread.
#pragma once

#include <vector>

#include "core/session/catalog.h"
#include "core/store/finding.h"

namespace arborfs::omp {

/// Reads the session and everything that it refers to. An unreadable log is a finding too.
std::vector<Finding> examine(Session& session, const Catalog& catalog);

/// Returns the newest message if agents would continue without it: the log's last entry is only bookkeeping, and the
/// newest message is not among its ancestors (FAILURES.md F6). Otherwise kNoEntry.
Ordinal message_behind_dead_end(const LogIndex& index);
/// The same, but kNoEntry if arborfs wrote the last entry: then the leaf was moved on purpose.
Ordinal message_behind_dead_end(const Session& session, const Catalog& catalog);

}  // namespace arborfs::omp
