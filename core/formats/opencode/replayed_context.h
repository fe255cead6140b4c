// The context that OpenCode sends to the model when a session continues (opencode/FORMAT.md E). Any thread.
#pragma once

#include <memory>

#include "core/formats/opencode/opencode_reader.h"
#include "core/model/content.h"
#include "core/model/context_path.h"

namespace arborfs::opencode {

/// `{"messages":[…]}`, each message in the shape of an entry, with the parts that are sent. Errors: stale, io.
Result<std::shared_ptr<const Content>> replayed_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                        Era era);

}  // namespace arborfs::opencode
