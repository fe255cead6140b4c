// Queries on the tree of a session. They use only its index, do not recurse, and do not read the log.
// Pure functions over an index that must not change meanwhile (the caller holds the session's read guard).
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

/// The entries by their positions: each is in it once, whatever the ids (CONTRACT.md 6.1). Roots are in file order,
/// children by time. Without equal ids it is the agents' getTree() (omp/FORMAT.md C5). An entry that repeats one with
/// the same id and the same parent stands below that one, and their children below the last of them. The parent of any
/// other entry is the last one with the parent's id before it, else the first one after it. `nodes` leaves out entries
/// that are their own ancestors, and those below them; `unreachable` lists these.
struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<Ordinal> unreachable;
};
Tree tree_of(const LogIndex& index);

/// JavaScript's stable sort by timestamp, in which NaN compares equal to everything (omp/FORMAT.md C5). Gives the same
/// order as the agents' engine.
void sort_like_agents(std::vector<Ordinal>& children, const LogIndex& index);

/// The label in effect for an entry's id, or nullptr.
const Label* label_of(const LogIndex& index, const EntryId& id);

/// The names in labels/ : each label whose target exists, with its displayed name. Of labels with the same text, the
/// newest keeps the plain name, the others get name@<id> (CONTRACT.md 2.3). Names are not yet encoded as file names.
struct NamedLabel {
  std::string name;
  Ordinal target = kNoEntry;
  Ordinal set_by = kNoEntry;
};
std::vector<NamedLabel> named_labels(const LogIndex& index);

/// Finds the entry that a person named by its id, a unique prefix of its id (4 characters or more), `#42` or `42` (its
/// ordinal), its full stem, or a label. `#42` means the ordinal even if a label has that name. kNoEntry if no entry, or
/// more than one, matches.
Ordinal resolve_entry(const LogIndex& index, std::string_view spelled);
/// True if resolve_entry() gives kNoEntry because more than one entry matches.
bool is_ambiguous_entry(const LogIndex& index, std::string_view spelled);
inline constexpr std::size_t kShortestIdPrefix = 4;
/// The same for file names, in which `42` also means the ordinal, even if a label has that name or an id starts with it
/// (CONTRACT.md 2.2).
Ordinal resolve_name(const LogIndex& index, std::string_view name);

}  // namespace arborfs
