// The sessions that a session started, as sub-agents' work, and how its records name them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/session/catalog_view.h"
#include "core/session/session.h"

namespace arborfs {

struct StartedSession {
  std::string id;
  std::string folder;  // from that of the session that started it: children/NAME
  SessionPtr session;
};

/// Those in the children/ of a session, in the order of their names.
inline std::vector<StartedSession> started_by(const CatalogView& view, const Session& session) {
  std::vector<StartedSession> started;
  for (const auto& [name, child] : view.children_of(session.number())) {
    started.push_back({child->id(), "children/" + name, child});
  }
  return started;
}

/// The part of its id that the outputs of tools have. Claude Code names its sub-agents by the rest of their ids.
inline std::string_view named_in_outputs(std::string_view id) {
  constexpr std::string_view kPrefix = "agent-";
  return id.substr(id.starts_with(kPrefix) ? kPrefix.size() : 0);
}

}  // namespace arborfs
