// The lines that arborfs adds to Opal's sessions (opal/FORMAT.md B2, B3). Pure but for new ids; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/write/command_text.h"

namespace arborfs::opal {

/// The messages of an append, each the text of an object's members after `id` and `parent_id`: `"role":…}`.
struct NewMessages : CommandOptions {
  std::vector<std::string> members;
};

/// Errors: invalid_argument with the number of the object, not_utf8, too_large.
Result<NewMessages> new_messages(const AppendText& text);

/// The messages that replace others, each a JSON object; none is fine. Errors: as above.
Result<NewMessages> new_messages_of(const std::vector<std::string>& objects);

/// The members of a branch's summary, a user's message (opal/FORMAT.md C4).
std::string branch_summary(std::string_view text, std::string_view from_leaf);

/// One line, with its line feed. `parent` "" for a root.
std::string message_line(std::string_view id, std::string_view parent, std::string_view members);

/// 16 lower-case hex digits. Errors: io.
Result<std::string> new_message_id();
/// 32 of them. Errors: io.
Result<std::string> new_session_id();
/// The header of a session without messages (opal/FORMAT.md B2). `metadata` is an object's JSON text.
std::string header_line(std::string_view id, std::string_view metadata);

}  // namespace arborfs::opal
