// Ids of new records and sessions. Any thread.
#pragma once

#include <string>

#include "core/base/error.h"

namespace arborfs {

/// A random UUID of version 4. Errors: io.
Result<std::string> new_uuid();

}  // namespace arborfs
