// What is specific to pi in a context: the changes that its context_edit entries make, its outer shape and its messages
// (pi/FORMAT.md C7, C8). Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/formats/omp/context/context_source.h"

namespace arborfs::context {

/// The replacement for the content of one step, or the removal of the step.
struct ContextEdit {
  bool removes = false;
  std::uint64_t offset = 0;  // of the context_edit entry, whose replacement has the new content
  std::uint64_t length = 0;
};

using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;
/// The edit that counts for each edited step.
using ContextEdits = std::unordered_map<std::size_t, ContextEdit>;
/// Fills `edits` from the context_edit entries among the steps of `ranges`. Errors: io, stale.
Result<void> read_edits(const ContextPath& path, const Ranges& ranges, const Source& source, ContextEdits& edits);

/// Gives a message, or a custom_message entry, the content that an edit replaces its own with. `role`: of the message.
/// Errors: io, stale.
Result<void> replace_content(json::Value& owner, std::string_view role, const ContextEdit& edit, const Source& source,
                             json::Document& document);

/// `],"thinkingLevel":...,"model":...}`: the context from the end of its messages on. Errors: io, stale.
Result<std::string> pi_settings_json(const ContextPath& path, const Source& source);

/// The message of a `message` entry: content that is missing or null is empty, and `edit`, which may be null, replaces
/// it. "" if the entry has no message. Errors: io, stale.
Result<std::string> pi_message_json(json::Document& entry, const ContextEdit* edit, const Source& source);

/// The system prompt that a compaction kept.
std::string pi_system_message_json(json::Document& compaction);

}  // namespace arborfs::context
