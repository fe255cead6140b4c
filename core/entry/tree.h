// Queries on the tree of a session. They use only its index, do not recurse, and do not read the log.
// Pure functions over an index that must not change meanwhile (the caller holds the session's read guard).
#pragma once

#include <cstdint>
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

/// tree_of() in steps, for an index that may grow between the steps. The data of an index about its existing entries
/// never changes, so the caller needs to lock it only for one short step at a time. Used by one thread.
class TreeReader {
 public:
  /// Will read the tree of the entries that `index` has now.
  explicit TreeReader(const LogIndex& index);
  /// Reads up to `most` more entries from the same index, which may have grown. False once all have been read.
  bool read(const LogIndex& index, Ordinal most);
  /// Builds the tree; call it once, after read() returned false. Slow for many entries; does not use the index.
  Tree take();

 private:
  [[nodiscard]] Ordinal parent_of(const LogIndex& index, Ordinal ordinal) const;

  const Ordinal size_;
  const bool finds_places_;  // some entries have the same id
  Ordinal next_ = 1;
  // By ordinal:
  std::vector<Ordinal> parents_;
  std::vector<std::uint32_t> ids_;    // handles; empty unless finds_places_
  std::vector<std::uint32_t> named_;  // handles of the parents' ids; empty unless finds_places_
  std::vector<std::int64_t> times_;
};

/// sort_like_agents() with times that were copied from an index; `times` is indexed by ordinal.
void sort_like_agents(std::vector<Ordinal>& children, const std::vector<std::int64_t>& times);

}  // namespace arborfs
