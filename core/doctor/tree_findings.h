// Finds faults in the tree of a log's entries, of any format: parents, ids, labels. Changes nothing. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/log/log_index.h"
#include "core/store/finding.h"

namespace arborfs {

/// `entry #42 (a1b2c3d4)`, safe to show.
std::string entry_words(const LogIndex& index, Ordinal ordinal);
/// The id in quotes, safe to show.
std::string id_words(const EntryId& id);

/// A finding about one entry.
Finding finding_about(const LogIndex& index, Ordinal ordinal, std::string_view kind, std::string text);

/// Finds orphans, duplicate ids, cycles, labels on missing entries, and types of records that are not shown. The caller holds the session's guard.
void find_in_tree(const LogIndex& index, std::vector<Finding>& found);

}  // namespace arborfs
