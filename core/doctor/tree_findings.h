// Finds faults in the tree of a log's entries, of any format: parents, ids, labels. Changes nothing. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/store/finding.h"

namespace arborfs {

/// `entry #42 (a1b2c3d4)`, safe to show.
std::string entry_words(const LogIndex& index, Ordinal ordinal);
/// The id in quotes, safe to show.
std::string id_words(const EntryId& id);

/// A finding about one entry.
Finding finding_about(const LogIndex& index, Ordinal ordinal, std::string_view kind, std::string text);

/// Finds orphans, cycles, labels on missing entries, and types of records that are not shown. The caller holds the
/// session's guard. In a log that does not only grow (LogIndex::only_grows), a compaction may have removed parents:
/// orphans are then no damage.
void find_in_tree(const LogIndex& index, std::vector<Finding>& found);

/// An entry with the id of an earlier one.
struct SameId {
  Finding finding;
  std::uint64_t offset_before = 0;  // of the last one before it with the id
  std::uint64_t length_before = 0;
};
/// The caller holds the session's guard.
std::vector<SameId> same_ids_in(const LogIndex& index);
/// Finds the entries whose bytes differ from those of the one before with the same id: a repetition loses nothing, and
/// programs write it in the normal course. Reads the log, so the caller holds no guard.
void find_in_ids(const LogSource& log, std::vector<SameId> same, std::vector<Finding>& found);

}  // namespace arborfs
