// Names of models in records. Pure; any thread.
#pragma once

#include <string_view>

namespace arborfs {

/// False for "", and for words that agents write where no model answered: `<synthetic>` and other words in angle
/// brackets (claude/FORMAT.md F2), `unknown` (omp/FORMAT.md P1).
inline bool names_model(std::string_view name) {
  return !name.empty() && name != "unknown" && !(name.front() == '<' && name.back() == '>');
}

}  // namespace arborfs
