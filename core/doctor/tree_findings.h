// What is wrong with the tree that a log's entries make: parents, ids, labels, references, the leaf. Only looks.
#pragma once

#include <vector>

#include "core/doctor/finding.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs {

/// Orphans, doubled ids, cycles, labels on nothing. The caller holds the session's guard.
void find_in_tree(const LogIndex& index, std::vector<Finding>& found);

/// Entries that name another one which the log does not have, in their content: compactions and summaries of branches.
void find_in_references(const Session& session, const LogFile& log, std::vector<Finding>& found);

/// Where agents go on is none of the places where the conversation goes on: the log's last entry is one that nobody
/// reads, and the newest message is not among its ancestors (FAILURES.md F6). The newest message, or kNoEntry.
Ordinal message_behind_dead_end(const LogIndex& index);
/// The same, but kNoEntry where arborfs wrote that last entry: who moved the leaf meant to.
Ordinal message_behind_dead_end(const Session& session, const Catalog& catalog);
/// A leaf at a dead end.
void find_dead_end(const Session& session, const Catalog& catalog, std::vector<Finding>& found);

}  // namespace arborfs
