// Brings freshly parsed objects into the shape JavaScript gives them (omp/FORMAT.md A9, C23).
#pragma once

#include "core/json/document.h"

namespace arborfs::json {

/// In every object below `root`: a key that occurs twice keeps its first place and its last value, integer-like keys
/// move to the front in ascending order. Does not recurse.
void reorder_keys(Value& root);

}  // namespace arborfs::json
