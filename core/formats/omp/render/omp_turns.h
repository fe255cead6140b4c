// The turns of a conversation from entries of omp and pi (omp/FORMAT.md H, pi/FORMAT.md C3). Any thread.
#pragma once

#include <vector>

#include "core/render/record_renderer.h"

namespace arborfs {

/// As RecordRenderer::add_turns. False for an entry whose text is to be added instead.
bool add_turns_of_omp(const SpokenEntry& entry, std::vector<Turn>& turns);

}  // namespace arborfs
