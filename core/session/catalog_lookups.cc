// Finds the latest sessions, and the session that a user names.
#include <algorithm>
#include <filesystem>

#include "core/session/catalog.h"

namespace arborfs {

namespace {

/// True if the word is a path and not an id.
bool looks_like_path(const std::string& word) {
  std::error_code failed;
  return word.empty() || word.find('/') != std::string::npos || std::filesystem::exists(word, failed);
}

bool is_log_name(const StoreSet& stores, std::string_view word) {
  return std::any_of(stores.begin(), stores.end(), [&](const auto& store) { return store->is_log_name(word); });
}

/// The log's path without the ending of its name: that of the folder with the agent's files for it.
std::string without_ending(const std::string& log, const LogPlace& place) {
  return log.substr(0, log.size() - (place.file.size() - place.stem().size()));
}

bool is_of(const Session& session, std::string_view agent) {
  return agent.empty() || session.agent() == agent;
}

/// The sessions with this name in the tree or on disk, one per agent: if several logs have the name, that of the first
/// store. `agent`: "" for all.
std::vector<SessionPtr> with_name(const CatalogView& view, std::string_view name, std::string_view agent) {
  std::vector<SessionPtr> found;
  for (const ShownAt* shown : view.shown) {
    const SessionPtr& session = shown->session();
    if (!is_of(*session, agent) || (shown->name() != name && session->stem() != name)) {
      continue;
    }
    const auto other = std::find_if(found.begin(), found.end(), [agent_of = session->agent()](const SessionPtr& known) {
      return known->agent() == agent_of;
    });
    if (other == found.end()) {
      found.push_back(session);
    } else if (session->place() < (*other)->place()) {
      *other = session;
    }
  }
  return found;
}

std::ptrdiff_t count_prefix(const CatalogView& view, std::string_view id, std::string_view agent) {
  return std::count_if(view.by_id.begin(), view.by_id.end(),
                       [&](const auto& row) { return row.first.starts_with(id) && is_of(*row.second, agent); });
}

/// The sessions whose headers are lost, and whose logs' names end with an id that starts so.
std::vector<SessionPtr> with_id_in_name(const CatalogView& view, std::string_view id, std::string_view agent) {
  std::vector<SessionPtr> found;
  for (const auto& [name, session] : view.by_id) {
    const LogPlace place = session->place();
    if (place.id_in_name().starts_with(id) && session->standing().id.empty() && is_of(*session, agent)) {
      found.push_back(session);
    }
  }
  return found;
}

/// True if a path in a mount leads to one branch of the session: commands would take its other branches too.
bool leads_to_branch(const Session& session, std::string_view path) {
  return path.find("/" + session.shown_path() + "/branches/") != std::string_view::npos;
}

}  // namespace

std::vector<SessionPtr> Catalog::recent(std::size_t limit) const {
  struct Row {
    std::int64_t mtime;
    std::uint32_t number;
    SessionPtr session;
  };
  std::vector<Row> rows;
  const auto seen = view();
  for (auto& session : all_sessions()) {
    if (seen->is_child(session->number())) {
      continue;
    }
    rows.push_back({session->mtime_ns(), session->number(), session});
  }
  const std::size_t count = std::min(limit, rows.size());
  std::partial_sort(
      rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
      [](const Row& a, const Row& b) { return a.mtime != b.mtime ? a.mtime > b.mtime : a.number < b.number; });
  std::vector<SessionPtr> newest;
  newest.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    newest.push_back(std::move(rows[i].session));
  }
  return newest;
}

Result<SessionPtr> Catalog::find_by_path(const std::string& path) const {
  std::error_code failed;
  std::string full = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed).string();
  SessionPtr found;
  std::size_t longest = 0;  // of the shown paths that the path has in it: children/ are in other sessions
  for (const auto& session : all_sessions()) {
    const LogPlace place = session->place();
    const std::string log = session->store().path_of(place);
    if (full == log || full == without_ending(log, place)) {
      return session;
    }
    const std::string shown = "/" + session->shown_path();
    if (shown.size() > longest && (full.ends_with(shown) || full.find(shown + "/") != std::string::npos)) {
      found = session;
      longest = shown.size();
    }
  }
  if (found && leads_to_branch(*found, full)) {
    return Error{Errc::invalid_argument, "'" + path + "' is a branch; name its session, and an entry of the branch"};
  }
  if (found) {
    return found;
  }
  if (!looks_like_path(path) && !is_log_name(stores(), path)) {
    return Error{Errc::not_found,
                 "no session has an id that starts with '" + path + "'; 'arborfs ls' lists the sessions"};
  }
  return Error{Errc::not_found, "no session of this store is at " + path};
}

Result<SessionPtr> Catalog::find_latest(std::string_view agent) const {
  auto sessions = recent(agent.empty() ? 1 : SIZE_MAX);
  const auto newest =
      std::find_if(sessions.begin(), sessions.end(), [&](const SessionPtr& one) { return is_of(*one, agent); });
  return newest != sessions.end() ? Result<SessionPtr>(std::move(*newest))
                                  : Error{Errc::not_found, "there are no sessions yet"};
}

Result<SessionPtr> Catalog::find(const std::string& spelled) const {
  const auto seen = view();
  const auto [agent, id] = seen->split_agent(spelled);
  if (id == "latest") {
    return find_latest(agent);
  }
  if (auto session = agent.empty() ? seen->by_id_prefix(id) : seen->by_id_prefix(id, agent)) {
    return session;
  }
  const auto named = with_name(*seen, id, agent);
  if (named.size() > 1) {
    return Error{Errc::invalid_argument,
                 std::to_string(named.size()) + " sessions have this name; put the agent and a colon before it"};
  }
  if (!named.empty()) {
    return named.front();
  }
  if (spelled.find('/') != std::string::npos || is_log_name(stores(), spelled)) {
    return find_by_path(spelled);
  }
  const auto matches = count_prefix(*seen, id, agent);
  if (matches > 1 && !id.empty()) {
    return Error{Errc::invalid_argument,
                 std::to_string(matches) + " sessions have an id with this prefix; give more of the id"};
  }
  const auto headless = id.empty() ? std::vector<SessionPtr>() : with_id_in_name(*seen, id, agent);
  if (headless.size() > 1) {
    return Error{Errc::invalid_argument, std::to_string(headless.size()) +
                                             " sessions without a header have an id with this prefix in their names; "
                                             "give more of the id"};
  }
  if (!headless.empty()) {
    return headless.front();
  }
  if (!agent.empty()) {
    return Error{Errc::not_found, "no session of " + std::string(agent) + " has an id that starts with '" +
                                      std::string(id) + "'; 'arborfs ls -a " + std::string(agent) + "' lists them"};
  }
  return find_by_path(spelled);
}

}  // namespace arborfs
