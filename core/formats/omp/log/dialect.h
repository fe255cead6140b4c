// The rules by which a log of omp or pi is read, and what shows which agent wrote a record (omp/FORMAT.md H5, J3, K5,
// O2). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

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
/// True if omp writes entries of `type` and pi does not.
bool is_omp_type(EntryType type);

/// True for types that only the younger generation writes (omp/FORMAT.md J3).
bool is_omp18_type(EntryType type);

/// Only pi writes these (omp/FORMAT.md O2).
bool is_pi_type(EntryType type);

}  // namespace arborfs
