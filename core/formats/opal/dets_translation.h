// A session of Opal in a DETS table, translated to the JSON lines that earlier versions of Opal wrote
// (opal/FORMAT.md D4). Used by one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/log/log_source.h"

namespace arborfs::opal {

/// Longer translations are refused.
constexpr std::uint64_t kLongestTranslation = std::uint64_t{256} << 20U;

/// The lines: a header, then the messages in the order of the table. For every object that cannot be read, and for a
/// table that was not closed, it adds a line that says so and is not JSON. Errors: corrupt if the file is not a table;
/// too_large, io, interrupted.
Result<std::string> translate_dets(const LogSource& file, const std::atomic<bool>* cancelled);

}  // namespace arborfs::opal
