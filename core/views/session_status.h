// Collects the content of a session's status.json. Any thread.
#pragma once

#include "core/render/views.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs {

/// Reads damaged bytes again to name the whole records in them, and checks for missing blobs and a live agent.
SessionStatus session_status(const Session& session, const Catalog& catalog);

}  // namespace arborfs
