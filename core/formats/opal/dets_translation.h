// A session of Opal in a DETS table, translated to the JSON lines that earlier versions of Opal wrote
// (opal/FORMAT.md D4). Used by one thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/log/log_source.h"

namespace arborfs::opal {

/// Longer translations are refused.
constexpr std::uint64_t kLongestTranslation = std::uint64_t{256} << 20U;

/// The lines: a header, then the messages in the order of the table. For every object that cannot be read, and for a
/// table that was not closed, it adds a line that says so and is not JSON. Errors: corrupt if the file is not a table;
/// too_large, io, interrupted.
Result<std::string> translate_dets(const LogSource& file, const std::stop_token& stop);

// Erlang terms in the external format as JSON, by the rules of Opal's JSON encoder (opal/FORMAT.md D4). Pure; any
// thread.

/// Appends the JSON text of the term that `bytes`, without the version byte, consist of. Keys of maps are in byte
/// order. False if they are not one term, or one with a part that JSON cannot hold (a process, a function), that is
/// nested too deeply or has too many keys; `json` then ends with a part of it. Does not recurse.
bool append_term(std::string_view bytes, std::string& json);

}  // namespace arborfs::opal
