// The one name of a session, by which people find it: its title, else the words with which its conversation opens. Any
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/session/session.h"

namespace arborfs {

/// The name of a session that has neither a title nor a text.
inline constexpr std::string_view kNoConversation = "(no conversation)";

/// The words with which a conversation opens, from the start of the log, in its order: the first that a person typed,
/// else the first command with its arguments, else the first text of an answer, a tool or a summary. Never what a
/// program put in the user's name.
struct OpeningWords {
  std::string text;       // on one line; "" if there are none, or the log cannot be read
  bool is_final = false;  // a person typed them, so that they stay while the log only grows
};
/// At most `columns` characters. Looks at entries that begin in the first 256 KiB of the log, and, if none of them says
/// anything, in the first 64 MiB.
OpeningWords opening_words(const Format& format, const LogSource& log, std::size_t columns);
OpeningWords opening_words(const Session& session, std::size_t columns);

/// The title, else the opening words, else kNoConversation: one line of at most `columns` characters, never empty.
std::string session_name(const Session& session, std::size_t columns);

}  // namespace arborfs
