// How a catalog names sessions: builds one view of all projects and ids from the heads of the logs.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/render/names.h"
#include "core/session/catalog_known.h"
#include "core/session/families.h"

namespace arborfs {

namespace {

constexpr std::size_t kLongestId = 240;  // bytes of a name before unique_name() extends it

/// `name`, or the first of `name~2`, `name~3`, ... that is not taken yet.
std::string unique_name(std::string name, std::unordered_set<std::string>& taken) {
  std::string candidate = name;
  for (int number = 2; !taken.insert(candidate).second; ++number) {
    candidate = name + "~" + std::to_string(number);
  }
  return candidate;
}

/// The number of the session in whose children/ a view shows another; 0 if it does not.
std::uint32_t starter_in(const CatalogView& view, const Session& session) {
  const auto found = view.where.find(session.number());
  return found == view.where.end() ? 0 : found->second.starter;
}

/// Adds the places of all sessions in a folder.
void note_places(CatalogView& view, const SessionFolderPtr& folder, const ProjectPtr& project, std::uint32_t starter) {
  for (std::size_t at = 0; at < folder->sessions.size(); ++at) {
    view.where[folder->sessions[at].second->number()] = {project, folder, at, starter, 0};
  }
}

void list_shown(CatalogView& view) {
  view.shown.reserve(view.where.size());
  for (const ProjectPtr& project : view.projects) {
    for (const auto& [name, session] : project->sessions) {
      view.shown.push_back(&view.where.find(session->number())->second);
    }
  }
  for (const auto& [id, session] : view.by_id) {
    const auto found = view.where.find(session->number());
    if (found != view.where.end() && found->second.starter != 0) {
      view.shown.push_back(&found->second);
    }
  }
}

}  // namespace

/// Notifies readers that know the session by its old names; they find its new name themselves.
void Catalog::publish_move(const CatalogView& old_view, const Placed& moved) {
  Change gone;
  gone.kind = Change::Kind::session_removed;
  gone.session = moved.session->number();
  gone.session_id = moved.standing.id;
  gone.path = moved.shown_before;
  gone.starter = starter_in(old_view, *moved.session);
  const auto is_it = [&](const auto& row) { return row.second == moved.session; };
  if (old_view.by_id_prefix(names::encode(moved.standing.id, kLongestId)) != moved.session) {
    const auto old_name = std::find_if(old_view.by_id.begin(), old_view.by_id.end(), is_it);
    gone.session_id = old_name == old_view.by_id.end() ? "" : old_name->first;
  }
  feed_.publish(std::move(gone));
  publish(moved.session, Change::Kind::session_added, *view());
}

void Catalog::publish(const SessionPtr& session, Change::Kind kind, const CatalogView& seen) {
  Change change;
  change.kind = kind;
  change.session = session->number();
  change.session_id = session->standing().id;
  change.path = session->shown_path();
  change.starter = starter_in(seen, *session);
  feed_.publish(std::move(change));
}

/// Adds the projects of a view, one per cwd. Names are assigned in byte order of cwd (CONTRACT.md 2.1).
void Catalog::add_projects(CatalogView& view, std::vector<Placed>& sessions) {
  std::map<std::string_view, std::vector<Placed*>> by_cwd;
  for (auto& placed : sessions) {
    if (!placed.is_child) {
      by_cwd[placed.standing.cwd].push_back(&placed);
    }
  }
  std::unordered_set<std::string> taken;
  std::map<LogFolder, std::size_t> votes;
  for (const auto& [cwd, members] : by_cwd) {
    const ProjectPtr project = make_project(members, unique_name(names::project_name(cwd, home_), taken));
    std::map<LogFolder, std::size_t> folders;
    for (const Placed* placed : members) {
      ++folders[placed->place.in()];
    }
    note_places(view, project, project, 0);
    for (const auto& [folder, count] : folders) {
      if (count > votes[folder]) {
        votes[folder] = count;
        view.by_folder[folder] = project->name;
      }
    }
    view.projects.push_back(project);
  }
  std::sort(view.projects.begin(), view.projects.end(), [](const auto& a, const auto& b) { return a->name < b->name; });
}

namespace {

bool has_lesser_name(const std::pair<std::string, SessionPtr>& a, const std::pair<std::string, SessionPtr>& b) {
  return a.first < b.first;
}

}  // namespace

/// The log's name for omp and pi; for other agents it follows the agent's.
std::string Catalog::shown_name(const Placed& placed) {
  const std::string stem(placed.place.stem());
  const Format& format = placed.session->format();
  return names::encode(format.is_plain ? stem : std::string(format.agent) + "-" + stem, kLongestId);
}

/// See Project::native_names. `shown`: the names of all sessions of the project.
std::vector<std::pair<std::string, SessionPtr>> Catalog::native_names(const std::vector<Placed*>& members,
                                                                      const std::unordered_set<std::string>& shown) {
  std::vector<std::pair<std::string, SessionPtr>> all;
  for (const Placed* placed : members) {
    std::string name = names::encode(placed->place.stem(), kLongestId);
    if (!placed->session->format().is_plain && !shown.contains(name)) {
      all.emplace_back(std::move(name), placed->session);
    }
  }
  std::sort(all.begin(), all.end(), has_lesser_name);
  std::vector<std::pair<std::string, SessionPtr>> unique;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool is_repeated =
        (at > 0 && all[at - 1].first == all[at].first) || (at + 1 < all.size() && all[at + 1].first == all[at].first);
    if (!is_repeated) {
      unique.push_back(all[at]);
    }
  }
  return unique;
}

/// Fills a folder with sessions, and sets the shown path of each. `path` is that of the folder, `taken` are the names
/// of its other files.
void Catalog::fill(SessionFolder& folder, const std::string& path, const std::vector<Placed*>& members,
                   std::unordered_set<std::string> taken) {
  folder.sessions.reserve(members.size());
  for (Placed* placed : members) {
    const Session& session = *placed->session;
    folder.sessions.emplace_back(unique_name(shown_name(*placed), taken), placed->session);
    std::string shown = path + "/" + folder.sessions.back().first;
    placed->shown_before = session.shown_path();
    placed->has_moved = !placed->shown_before.empty() && (placed->shown_before != shown || session.is_renamed());
    placed->session->set_shown_path(std::move(shown), placed->standing);
  }
  std::sort(folder.sessions.begin(), folder.sessions.end(), has_lesser_name);
  folder.native_names = native_names(members, taken);
}

/// Adds the children/ of sessions, once those in projects have their places.
void Catalog::add_children(CatalogView& view, std::vector<Placed>& sessions, const Families& families) {
  std::map<std::size_t, std::vector<Placed*>> children;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (sessions[i].is_child) {
      children[families.starter[i]].push_back(&sessions[i]);
    }
  }
  for (const std::size_t at : families.order) {
    const auto members = children.empty() ? children.end() : children.find(at);
    if (members == children.end()) {
      continue;
    }
    const Session& starter = *sessions[at].session;
    auto folder = std::make_shared<SessionFolder>();
    fill(*folder, view.path_of(starter.number()) + "/children", members->second, {});
    const ProjectPtr project = view.where[starter.number()].project;
    note_places(view, folder, project, starter.number());
    view.children[starter.number()] = std::move(folder);
  }
}

/// Makes the project of these sessions, which share one cwd.
ProjectPtr Catalog::make_project(const std::vector<Placed*>& members, std::string name) {
  auto project = std::make_shared<Project>();
  project->cwd = members.front()->standing.cwd;
  project->number = project_number(project->cwd);
  project->name = std::move(name);
  fill(*project, "projects/" + project->name, members, {"cwd", "by-title"});
  return project;
}

std::uint32_t Catalog::project_number(const std::string& cwd) {
  const std::lock_guard lock(mutex_);
  auto& number = known_->project_numbers[cwd];
  if (number == 0) {
    number = ++known_->last_project;
  }
  return number;
}

std::optional<std::string> Catalog::cwd_of_project(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(known_->project_numbers.begin(), known_->project_numbers.end(),
                                  [&](const auto& row) { return row.second == number; });
  return found == known_->project_numbers.end() ? std::nullopt : std::optional(found->first);
}

/// Names the sessions of a view by their ids. They come in the order of their stores.
void Catalog::name_by_id(CatalogView& view, const std::vector<Placed>& sessions) const {
  view.by_id.reserve(sessions.size());
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, std::uint8_t> store_of;  // by id, of the session that has the plain one
  for (const auto& placed : sessions) {
    const std::string& id = placed.standing.id;
    std::string name = names::encode(id.empty() ? placed.place.stem() : std::string_view(id), kLongestId);
    if (store_of.try_emplace(name, placed.place.store).first->second != placed.place.store) {
      name += "@" + std::string(placed.session->store().format().agent);
    }
    view.by_id.emplace_back(unique_name(std::move(name), taken), placed.session);
  }
  std::sort(view.by_id.begin(), view.by_id.end(), has_lesser_name);
  for (std::uint32_t at = 0; at < view.by_id.size(); ++at) {
    const Session& session = *view.by_id[at].second;
    view.by_agent[session.agent()].push_back(at);
    if (const auto found = view.where.find(session.number()); found != view.where.end()) {
      found->second.id_at = at;
    }
  }
}

/// A log whose header cannot be read is identified by its name, which is the id for all agents with sub-agents.
Families Catalog::families_among(const std::vector<Placed>& sessions) {
  std::vector<FamilyMember> members;
  members.reserve(sessions.size());
  for (const Placed& placed : sessions) {
    const std::string_view id = placed.standing.id;
    members.push_back({placed.place.store, id.empty() ? placed.place.stem() : id, placed.standing.started_by});
  }
  return families_of(members);
}

void Catalog::rebuild_view() {
  const std::lock_guard naming(naming_mutex_);
  const auto all = all_sessions();
  std::vector<Placed> sessions;
  sessions.reserve(all.size());
  for (const auto& session : all) {
    sessions.push_back({session, session->place(), session->standing(), false, "", false});
  }
  const Families families = families_among(sessions);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    sessions[i].is_child = families.starter[i] != Families::kNone;
  }
  auto view = std::make_shared<CatalogView>();
  add_projects(*view, sessions);
  add_children(*view, sessions, families);
  name_by_id(*view, sessions);
  list_shown(*view);
  const CatalogViewPtr old_view = this->view();
  {
    const std::lock_guard lock(mutex_);
    view->version = ++known_->version;
    view_ = std::move(view);
  }
  for (const auto& placed : sessions) {
    if (placed.has_moved) {
      publish_move(*old_view, placed);
    }
  }
}

std::vector<NamedSession> Catalog::terminals(const Hanging& hanging) const {
  std::vector<NamedSession> named;
  const auto crumbs = stores_.breadcrumbs(hanging.stores());
  std::unordered_set<std::string> taken;
  const std::lock_guard lock(mutex_);
  for (const auto& crumb : crumbs) {
    const auto found = known_->sessions.find(crumb.place);
    if (found != known_->sessions.end()) {
      named.push_back({unique_name(names::encode(crumb.terminal, kLongestId), taken), found->second});
    }
  }
  return named;
}

}  // namespace arborfs
