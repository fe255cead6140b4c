// A conversation of another agent as rows of a transcript (claude/FORMAT.md G). Pure but for new ids; any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/writer/conversation.h"

namespace arborfs::claude {

std::string text_block(std::string_view text);

/// The row of a session's title; "" for none.
std::string title_row(const std::string& title, const std::string& session);

/// All rows, the title last. Adds the parts that could only be written as text to `counts`. Errors: io.
Result<std::string> adopted_rows(const Conversation& conversation, const std::string& session, AsText& counts);

}  // namespace arborfs::claude
