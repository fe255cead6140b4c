// The parts of a context that are specific to pi: its outer shape and its messages (pi/FORMAT.md C7, C8). Internal to
// core/model.
#pragma once

#include <string>

#include "core/formats/omp/context/context_edits.h"
#include "core/formats/omp/context/context_source.h"

namespace arborfs::context {

/// `],"thinkingLevel":...,"model":...}`: the context from the end of its messages on. Errors: io, stale.
Result<std::string> pi_settings_json(const ContextPath& path, const Source& source);

/// The message of a `message` entry: content that is missing or null is empty, and `edit`, which may be null, replaces
/// it. "" if the entry has no message. Errors: io, stale.
Result<std::string> pi_message_json(json::Document& entry, const ContextEdit* edit, const Source& source);

/// The system prompt that a compaction kept.
std::string pi_system_message_json(json::Document& compaction);

}  // namespace arborfs::context
