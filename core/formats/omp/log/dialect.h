// The rules by which a log of omp or pi is read.
#pragma once

#include <cstdint>

#include "core/log/log_index.h"

namespace arborfs {

/// Those of a generation of omp (CONTRACT.md 6.2, omp/FORMAT.md J3), or pi's (omp/FORMAT.md O2).
enum class Dialect : DialectNumber { omp13, omp18, pi };

/// The dialect of an index that this format's reader made.
inline Dialect dialect_of(const LogIndex& index) {
  return Dialect{index.dialect()};
}

}  // namespace arborfs
