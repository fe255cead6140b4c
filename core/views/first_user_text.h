// What a session began with, for listings: from the head of its log, without an index. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "core/session/session.h"

namespace arborfs {

/// How far into a log the first words are looked for.
inline constexpr std::uint64_t kFirstUserTextBytes = 256 * 1024;

/// The first words of what the user said first, as one line of at most `columns` characters; "" when nobody said
/// anything within kFirstUserTextBytes or the log cannot be read.
std::string first_user_text(const Session& session, const SessionStore& store, std::size_t columns);

}  // namespace arborfs
