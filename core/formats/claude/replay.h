// The messages that the program sends to its model when a session is resumed (claude/FORMAT.md F). Refers to ranges of
// the log, so a context of any length takes little memory. Any thread.
#pragma once

#include <memory>

#include "core/log/log_source.h"
#include "core/model/content.h"
#include "core/model/context_path.h"

namespace arborfs::claude {

/// Errors: stale, io.
Result<std::shared_ptr<const Content>> replay(const ContextPath& path, std::shared_ptr<const LogSource> log);

}  // namespace arborfs::claude
