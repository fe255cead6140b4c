// index.html and stats.html at the root of a mount: all sessions, and what they cost. Any thread.
#pragma once

#include <string>

#include "core/session/catalog_view.h"
#include "core/views/stats.h"

namespace arborfs {

/// All sessions by project, newest first, without reading a log.
std::string index_page(const CatalogView& view);

/// Tokens and money by day, project, model, agent and session.
std::string stats_page(const CatalogView& view, const stats::Stats& stats);

}  // namespace arborfs
