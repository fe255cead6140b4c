// Entry ids as JSON. Pure; any thread.
#pragma once

#include <string>

#include "core/log/log_index.h"

namespace arborfs {

/// The id as JSON, as written after "parentId" or "targetId"; "null" for a missing one.
std::string id_json(const EntryId& id);

}  // namespace arborfs
