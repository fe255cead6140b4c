// Gathers what status.json of a session tells. Any thread.
#pragma once

#include "core/render/views.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs {

/// Reads what is damaged once more to name whole records in it, looks for missing blobs and for a live agent.
SessionStatus session_status(const Session& session, const Catalog& catalog);

}  // namespace arborfs
