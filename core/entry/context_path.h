// The path of the tree that a context is made from, copied from the index under the session's read guard, so that no
// lock is held while the log is read.
#pragma once

#include <utility>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

/// A path of the tree, copied from an index.
struct ContextPath {
  struct Step {
    /// From the role of a message; `custom` includes the role that older versions call hookMessage.
    enum class Speaker : std::uint8_t { other, user, assistant, custom, tool_result, system };
    Entry entry;
    std::uint64_t length = 0;
    Ordinal ordinal = kNoEntry;
    Speaker speaker = Speaker::other;
    [[nodiscard]] bool is_assistant() const { return speaker == Speaker::assistant; }
  };
  std::vector<Step> steps;  // root first
  /// Ids of the steps as the agents see them, after migration. Filled only if an entry of the path may name them: a
  /// compaction or a context_edit.
  std::vector<EntryId> ids;
  DialectNumber dialect = 0;     // LogIndex::dialect()
  bool version_below_3 = false;  // hookMessage is read as custom (omp/FORMAT.md E10)
  /// Used for logs below version 3: the place of the header, and, for the entries of this path, the value index (the
  /// header is 0) and the id, ascending. Compactions of version 1 name entries by that index (omp/FORMAT.md E9).
  std::uint64_t header_offset = 0;
  std::uint64_t header_length = 0;
  std::vector<std::pair<Ordinal, EntryId>> kept_by_index;
};
/// The path to `leaf`.
ContextPath context_path(const LogIndex& index, Ordinal leaf);
/// A path of these entries, root first, as people_entries() gives them.
ContextPath context_path(const LogIndex& index, const std::vector<Ordinal>& entries);

}  // namespace arborfs
