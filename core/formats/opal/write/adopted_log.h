// A conversation of another agent as a log of Opal (opal/FORMAT.md B). Any thread.
#pragma once

#include <string>

#include "core/writer/conversation.h"

namespace arborfs::opal {

/// The whole log. Adds the parts that could only be written as text to `counts`. Errors: io.
Result<std::string> adopted_log(const Conversation& conversation, const std::string& session, AsText& counts);

}  // namespace arborfs::opal
