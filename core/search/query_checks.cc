#include "core/search/query_checks.h"

#include <algorithm>
#include <set>

#include "core/base/join_words.h"
#include "core/render/text.h"
#include "core/search/query/fold.h"
#include "core/search/query/is_over.h"

namespace arborfs::search {

namespace {

constexpr std::size_t kMostShown = 20;        // roles; each custom type of a record is one
constexpr std::size_t kCharactersShown = 40;  // of each word

std::string shown(std::string_view word) {
  return visible_line(word, kCharactersShown);
}

std::vector<std::string> agents_of_stores(const Catalog& catalog) {
  std::vector<std::string> agents;
  for (const auto& store : catalog.stores()) {
    const std::string_view agent = store->format().agent;
    if (std::find(agents.begin(), agents.end(), agent) == agents.end()) {
      agents.emplace_back(agent);
    }
  }
  return agents;
}

using Roles = std::set<std::string, std::less<>>;

/// Adds the roles of the session's entries.
void add_roles(Session& session, const std::atomic<bool>* cancelled, Roles& roles) {
  if (!session.refresh(Depth::index, cancelled)) {
    return;
  }
  const auto guard = session.read();
  const Ordinal count = guard ? guard->index().size() : kNoEntry;
  for (Ordinal ordinal = 1; ordinal <= count; ++ordinal) {
    const std::string_view role = guard->index().name(ordinal);
    if (roles.find(role) == roles.end()) {
      roles.emplace(role);
    }
  }
}

bool has_role(const Roles& roles, const std::string& wanted) {
  return std::any_of(roles.begin(), roles.end(), [&](const std::string& role) { return folded(role) == wanted; });
}

}  // namespace

Result<void> check_agent(const Catalog& catalog, const Query& query) {
  const auto agents = agents_of_stores(catalog);
  if (query.agent.empty() || std::find(agents.begin(), agents.end(), query.agent) != agents.end() ||
      catalog.view()->by_agent.contains(query.agent)) {
    return {};
  }
  return {Errc::invalid_argument,
          "no store of an agent '" + shown(query.agent) + "' is open; there are stores of " + join_words(agents)};
}

Result<void> check_role(const Catalog& catalog, const Query& query, const std::atomic<bool>* cancelled) {
  if (query.role.empty()) {
    return {};
  }
  const std::string wanted = folded(query.role);
  Roles roles;
  const auto view = catalog.view();
  for (const ShownAt* shown_at : view->shown) {
    const SessionPtr& session = shown_at->session();
    if (!query.agent.empty() && session->agent() != query.agent) {
      continue;
    }
    const Session::Use use(session);
    if (cancelled != nullptr && *cancelled) {
      return search_is_over();
    }
    add_roles(*session, cancelled, roles);
    if (has_role(roles, wanted)) {
      return {};
    }
  }
  std::vector<std::string> listed;
  for (const std::string& role : roles) {
    listed.push_back(shown(role));
  }
  listed.resize(std::min(listed.size(), kMostShown));
  return {Errc::invalid_argument, "no entry has the role '" + shown(query.role) + "'" +
                                      (listed.empty() ? "" : "; there are entries of " + join_words(listed))};
}

}  // namespace arborfs::search
