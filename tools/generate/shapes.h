// Logs with one extreme shape each, for tests of scale.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace arborfs::generate {

/// Small entries: most are children of the one before, one in a hundred is a child of an earlier one.
Result<void> write_small_entries(const std::string& path, std::uint64_t count);
/// One chain of parents as deep as there are entries.
Result<void> write_chain(const std::string& path, std::uint64_t depth);
/// A prompt of so many megabytes on one line, and an answer after it.
Result<void> write_giant_line(const std::string& path, std::uint64_t megabytes);
/// Entries around a line that consists only of '['.
Result<void> write_brackets(const std::string& path, std::uint64_t count);

}  // namespace arborfs::generate
