// Reports where two indexes of the same bytes differ.
#pragma once

#include "core/log/log_index.h"

namespace arborfs::fuzz {

/// Aborts with a message at the first difference that a reader could see.
void check_same(const LogIndex& got, const LogIndex& wanted);

}  // namespace arborfs::fuzz
