// Says where two indexes of the same bytes differ.
#pragma once

#include "core/log/log_index.h"

namespace arborfs::fuzz {

/// Aborts, in words, at the first difference in anything that a reader can ask.
void check_same(const LogIndex& got, const LogIndex& wanted);

}  // namespace arborfs::fuzz
