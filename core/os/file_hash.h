// The hash of a file's bytes. Any thread.
#pragma once

#include <string>

#include "core/os/file.h"

namespace arborfs {

/// SHA-256 of the whole file as 64 lower-case hex digits; reads the file in steps. Errors: io.
Result<std::string> sha256_of(const File& file);

}  // namespace arborfs
