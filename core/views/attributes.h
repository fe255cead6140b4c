// The extended attributes of entries and sessions in a mount (CONTRACT.md 2.4): names without prefix, and values
// without control characters. Thread-safe. The caller must have refreshed the session (Depth::index).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/session/session.h"

namespace arborfs {

using AttributeList = std::vector<std::pair<std::string, std::string>>;

/// id, parent, type, role, timestamp, model, label: those that the entry has. Errors: stale, io.
Result<AttributeList> entry_attributes(const Session& session, Ordinal ordinal);
/// id, agent, cwd, title, leaf, entries, parent-session: those that the session has. Errors: stale.
Result<AttributeList> session_attributes(const Session& session);

}  // namespace arborfs
