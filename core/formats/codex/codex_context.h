// The context that Codex sends to the model when it resumes a thread (codex/FORMAT.md D). Pure but for reading the log;
// any thread.
#pragma once

#include <memory>

#include "core/model/content.h"
#include "core/model/context_path.h"

namespace arborfs::codex {

/// `{"messages":[` newline, each item on its own line, `]}` newline. Items are copied unchanged from the log, except
/// for the messages into which Codex turns a compaction without a replacement_history. Errors: stale, io.
Result<std::shared_ptr<const Content>> build_context(const ContextPath& path, std::shared_ptr<const LogSource> log);

}  // namespace arborfs::codex
