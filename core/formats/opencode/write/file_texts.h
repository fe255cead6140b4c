// Texts of OpenCode's JSON files as OpenCode writes them, and changes of single values in them (opencode/FORMAT.md F1).
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace arborfs::opencode {

/// JSON without white space between tokens, as JSON.stringify(value, null, 2) writes it.
std::string indented(std::string_view json);

/// The text of a session with another title; everything else stays byte for byte. Errors: corrupt if it is not a JSON
/// object.
Result<std::string> with_title(const std::string& session, std::string_view title);
/// With a later time of its last change; unchanged if it has none, or a later one.
std::string with_time(const std::string& session, std::int64_t time_ms);

/// True if messages of the session are undone.
bool has_revert(std::string_view session);

}  // namespace arborfs::opencode
