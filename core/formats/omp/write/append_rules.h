// The members that a message or an entry must have so that the agents can open its log again (omp/FORMAT.md A18, C7,
// C13; pi/FORMAT.md C2, C3). Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs {

/// Checks a message and adds the members that users may omit: its time, an assistant's usage. Errors: invalid_argument,
/// which names the missing member and never any content.
Result<void> complete_message(json::Value& message, json::Document& owner, Dialect dialect, std::int64_t now_ms);

/// The same for an entry, which has `type`.
Result<void> complete_entry(json::Value& entry, json::Document& owner, Dialect dialect, std::int64_t now_ms);

}  // namespace arborfs
