// A conversation of another agent as rows of a transcript (claude/FORMAT.md G). Pure but for new ids; any thread.
#pragma once

#include <string>

#include "core/writer/conversation.h"

namespace arborfs::claude {

/// The project folder in which the program looks for the sessions of a working directory (claude/FORMAT.md A1).
std::string project_folder_of(const std::string& cwd);

/// All rows, the title last. Adds the parts that could only be written as text to `counts`. Errors: io.
Result<std::string> adopted_rows(const Conversation& conversation, const std::string& session, AsText& counts);

}  // namespace arborfs::claude
