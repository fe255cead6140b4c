// The first user message of a session, for listings: read from the head of the log, without an index. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "core/session/session.h"

namespace arborfs {

/// The text is searched for in this many bytes at the log's head.
inline constexpr std::uint64_t kFirstUserTextBytes = 256 * 1024;

/// The beginning of the first user message, as one line of at most `columns` characters; "" if there is none within
/// kFirstUserTextBytes or the log cannot be read.
std::string first_user_text(const Session& session, std::size_t columns);

}  // namespace arborfs
