// Reorders the keys of freshly parsed objects the way JavaScript does (omp/FORMAT.md A9, C23).
#pragma once

#include "core/json/document.h"

namespace arborfs::json {

/// For `root` and every object below it: a key that occurs twice keeps its first place and its last value, and
/// integer-like keys move to the front in ascending order. Does not recurse.
void reorder_keys(Value& root);

}  // namespace arborfs::json
