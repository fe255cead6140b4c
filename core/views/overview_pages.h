// index.html and stats.html at the root of a mount: all sessions, and what they cost. Any thread.
#pragma once

#include <map>
#include <string>

#include "core/session/catalog_view.h"
#include "core/views/stats.h"

namespace arborfs {

/// All sessions by project, newest first, without reading a log. `use`: what each has cost, by Counted::id; empty if
/// that was not summed up yet.
std::string index_page(const CatalogView& view, const std::map<std::string, stats::Row>& use);

/// Tokens and money by day, project, model, agent and session.
std::string stats_page(const stats::Stats& stats);

}  // namespace arborfs
