// Ids as OpenCode generates them (opencode/FORMAT.md A4). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace arborfs::opencode {

/// `kind` is "msg" or "prt". For equal times the id with the higher `count`, from 1, sorts last.
std::string new_id(std::string_view kind, std::int64_t time_ms, std::uint32_t count);

/// The id of a session created at this time: later ones sort first.
std::string new_session_id(std::int64_t time_ms);

}  // namespace arborfs::opencode
