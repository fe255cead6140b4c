// Questions about the tree of a session, answered from its index alone, without recursion and without reading the log.
// Pure functions over an index that nobody changes meanwhile (the caller holds the session's read guard).
#pragma once

#include <string>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

/// The entries from the root to `leaf`, in that order; a parent cycle is cut at the first id seen twice
/// (CONTRACT.md 6.1). Empty for kNoEntry.
std::vector<Ordinal> path_to(const LogIndex& index, Ordinal leaf);

/// One node of the tree in pre-order.
struct TreeNode {
  Ordinal ordinal = kNoEntry;
  std::uint32_t depth = 0;
};

/// getTree() of the agents (omp/FORMAT.md C5): roots in file order, children by time, duplicates of an id once per line
/// with the last one's content. Entries that only cycles lead to are absent here and listed by `unreachable`.
struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<Ordinal> unreachable;
};
Tree tree_of(const LogIndex& index);

/// JavaScript's stable sort by timestamp where NaN compares equal to all (omp/FORMAT.md C5): same order as the agents'
/// engine.
void sort_like_agents(std::vector<Ordinal>& children, const LogIndex& index);

/// The label in force for an entry's id, or nullptr.
const Label* label_of(const LogIndex& index, const EntryId& id);

/// The names of labels/ : each label whose target exists, with the name it is shown by - the newest keeps the plain
/// name, the others get name@<id> (CONTRACT.md 2.3). Names are not yet encoded for the file system.
struct NamedLabel {
  std::string name;
  Ordinal target = kNoEntry;
  Ordinal set_by = kNoEntry;
};
std::vector<NamedLabel> named_labels(const LogIndex& index);

/// How a person may name an entry: its id, a unique prefix of it of 4 characters or more, `#42` or `42` (ordinal), a
/// full stem, or a label. `#42` is the ordinal even where a label is called so. kNoEntry when nothing or more than one
/// thing fits.
Ordinal resolve_entry(const LogIndex& index, std::string_view spelled);
/// resolve_entry() gives nothing because more than one thing fits.
bool is_ambiguous_entry(const LogIndex& index, std::string_view spelled);
inline constexpr std::size_t kShortestIdPrefix = 4;
/// The same for names of files, where `42` too is the ordinal whatever labels are called so and ids begin so
/// (CONTRACT.md 2.2).
Ordinal resolve_name(const LogIndex& index, std::string_view name);

}  // namespace arborfs
