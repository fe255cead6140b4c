// The rules by which a log of omp or pi is read, and what shows which agent wrote a record (omp/FORMAT.md H5, J3, K5,
// O2). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs::omp {

/// Those of a generation of omp (CONTRACT.md 6.2, omp/FORMAT.md J3), or pi's (omp/FORMAT.md O2).
enum class Dialect : DialectNumber { omp13, omp18, pi };

/// The dialect of an index that this format's reader made.
inline Dialect dialect_of(const LogIndex& index) {
  return Dialect{index.dialect()};
}

/// Which of the hint keys a record has: one bit for each pair of a key and an entry type for which it is a hint.
using DialectHints = std::uint32_t;

/// The bits of a key at the top level of a record; 0 if the key is not a hint.
DialectHints dialect_hint_of(std::string_view key);

/// True if one of `keys` is written into entries of `type` only by the younger generation of omp.
bool has_omp18_key(DialectHints keys, EntryType type);
/// The same, for keys that omp of any generation writes and pi does not.
bool has_omp_key(DialectHints keys, EntryType type);
/// The same, for keys that only pi writes.
bool has_pi_key(DialectHints keys, EntryType type);
/// True for types that only the younger generation writes (omp/FORMAT.md J3).
bool is_omp18_type(EntryType type);
/// True if omp of any generation writes entries of `type` and pi does not.
bool is_omp_type(EntryType type);
/// Only pi writes these (omp/FORMAT.md O2).
bool is_pi_type(EntryType type);

/// The differences in how the agents write.
struct DialectRules {
  std::string_view agent;
  /// Entries pass through the persistence filter (persist.h). Otherwise each is written unchanged.
  bool filters_entries = false;
  /// The title is an entry of its own (pi/FORMAT.md C6), not a member of the header.
  bool names_by_entry = false;
  /// The fromId of a new branch_summary is the leaf that was left (pi/FORMAT.md C9), not its parent (omp/FORMAT.md H7).
  bool tells_left_leaf = false;
  /// parentSession is always a path (pi/FORMAT.md B2). Else whole forks and new sessions have an id (omp/FORMAT.md I1).
  bool parent_is_path = false;
  /// The header of a moved log lists where the log was before (omp/FORMAT.md G10).
  bool lists_old_places = false;
};

const DialectRules& rules_of(Dialect dialect);

}  // namespace arborfs::omp
