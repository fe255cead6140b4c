// Translates messages of omp and pi into turns of a conversation (omp/FORMAT.md C14, pi/FORMAT.md C3, C7).
#pragma once

#include <vector>

#include "core/render/record_renderer.h"

namespace arborfs {

/// As RecordRenderer::add_turns and read_turns.
void add_turns_of_omp(const SpokenEntry& entry, std::vector<Turn>& turns);
Result<void> read_turns_of_omp(const SpokenPath& spoken, const TakeTurns& take);

}  // namespace arborfs
