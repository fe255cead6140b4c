// Members of a record that tell which agent wrote it, beside its type (omp/FORMAT.md H5, J3, K5, O2). Pure functions,
// any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

/// Which telling keys a record has, a bit for each type of entry that they tell of.
using DialectHints = std::uint32_t;

/// The bits of a key at the top of a record; 0 for one that tells nothing.
DialectHints dialect_hint_of(std::string_view key);

/// Only the younger generation of omp writes one of these keys into an entry of that type.
bool has_omp18_key(DialectHints keys, EntryType type);
/// Any generation of omp, and no pi.
bool has_omp_key(DialectHints keys, EntryType type);
/// Only pi.
bool has_pi_key(DialectHints keys, EntryType type);
/// Only pi has entries of that type (omp/FORMAT.md O2).
bool is_pi_type(std::string_view type);
/// Only omp, and no pi, has entries of that type.
bool is_omp_type(EntryType type);

}  // namespace arborfs
