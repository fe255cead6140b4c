#include "core/session/catalog_view.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/entry/names.h"

namespace arborfs {

namespace {

constexpr std::size_t kNoStarter = Families::kNone;

template <class Rows, class Name>
auto find_named(const Rows& rows, std::string_view wanted, const Name& name_of) {
  const auto found = std::lower_bound(rows.begin(), rows.end(), wanted,
                                      [&](const auto& row, std::string_view name) { return name_of(row) < name; });
  return found != rows.end() && name_of(*found) == wanted ? found : rows.end();
}

SessionPtr find_in(const NamedSessions& rows, std::string_view name) {
  const auto found = find_named(rows, name, [](const auto& row) -> const std::string& { return row.first; });
  return found != rows.end() ? found->second : nullptr;
}

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
    if (place.id_in_name().starts_with(id) && session->identity().id.empty() && is_of(*session, agent)) {
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

SessionPtr SessionFolder::find(std::string_view shown_name) const {
  return find_in(sessions, shown_name);
}

SessionPtr SessionFolder::find_native(std::string_view native_name) const {
  return find_in(native_names, native_name);
}

ProjectPtr CatalogView::project(std::string_view name) const {
  const auto found = find_named(projects, name, [](const auto& row) -> const std::string& { return row->name; });
  return found != projects.end() ? *found : nullptr;
}

ProjectPtr CatalogView::project(std::uint32_t number) const {
  const auto found =
      std::find_if(projects.begin(), projects.end(), [&](const auto& row) { return row->number == number; });
  return found != projects.end() ? *found : nullptr;
}

SessionPtr CatalogView::session(std::uint32_t number) const {
  const auto found = where.find(number);
  return found != where.end() ? found->second.session() : nullptr;
}

std::string CatalogView::path_of(std::uint32_t number) const {
  const auto found = where.find(number);
  return found == where.end() ? std::string() : path_of(found->second);
}

std::string CatalogView::path_of(const ShownAt& place) const {
  std::string path;
  const ShownAt* at = &place;
  for (; at->starter != 0; at = &where.find(at->starter)->second) {
    path.insert(0, "/children/" + at->name());
  }
  constexpr std::string_view kTop = "projects/";
  const std::string& project = at->project->name;
  const std::string& name = at->name();
  std::string whole;
  whole.reserve(kTop.size() + project.size() + 1 + name.size() + path.size());
  ((((whole += kTop) += project) += '/') += name) += path;
  return whole;
}

std::uint32_t CatalogView::starter_of(std::uint32_t number) const {
  const auto found = where.find(number);
  return found == where.end() ? 0 : found->second.starter;
}

ProjectPtr CatalogView::project_of_folder(std::string_view folder) const {
  const auto found =
      std::find_if(by_folder.begin(), by_folder.end(), [&](const auto& row) { return row.first.name == folder; });
  return found != by_folder.end() ? project(std::string_view(found->second)) : nullptr;
}

SessionPtr CatalogView::by_id_prefix(std::string_view id, std::string_view agent) const {
  const auto members = by_agent.find(agent);
  if (id.empty() || (!agent.empty() && members == by_agent.end())) {
    return nullptr;
  }
  const std::size_t count = agent.empty() ? by_id.size() : members->second.size();
  const auto row = [&](std::size_t i) -> const auto& {
    return by_id[agent.empty() ? i : members->second[i]];
  };
  std::size_t at = 0;  // the first row that does not sort before `id`
  for (std::size_t left = count; left > 0;) {
    const std::size_t half = left / 2;
    const bool is_before = row(at + half).first < id;
    at += is_before ? half + 1 : 0;
    left = is_before ? left - half - 1 : half;
  }
  if (at == count || !row(at).first.starts_with(id)) {
    return nullptr;
  }
  const bool is_unique = row(at).first == id || at + 1 == count || !row(at + 1).first.starts_with(id);
  return is_unique ? row(at).second : nullptr;
}

CatalogView::AgentAndId CatalogView::split_agent(std::string_view spelled) const {
  const std::size_t colon = spelled.find(':');
  const auto agent = colon == std::string_view::npos ? by_agent.end() : by_agent.find(spelled.substr(0, colon));
  return agent == by_agent.end() ? AgentAndId{"", spelled} : AgentAndId{agent->first, spelled.substr(colon + 1)};
}

std::vector<SessionPtr> CatalogView::recent(std::size_t limit) const {
  struct Row {
    std::int64_t mtime;
    std::uint32_t number;
    SessionPtr session;
  };
  std::vector<Row> rows;
  for (const auto& [number, at] : where) {
    if (at.starter == 0) {
      rows.push_back({at.session()->mtime_ns(), number, at.session()});
    }
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

Result<SessionPtr> CatalogView::find_by_path(const std::string& path, const StoreSet& stores) const {
  std::error_code failed;
  std::string full = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed).string();
  SessionPtr found;
  std::size_t longest = 0;  // of the shown paths that the path has in it: children/ are in other sessions
  for (const auto& [id, session] : by_id) {
    const LogPlace place = session->place();
    const std::string log = session->store().path_of(place);
    if (full == log || full == without_ending(log, place)) {
      return session;
    }
    const std::string shown_path = "/" + session->shown_path();
    if (shown_path.size() > longest &&
        (full.ends_with(shown_path) || full.find(shown_path + "/") != std::string::npos)) {
      found = session;
      longest = shown_path.size();
    }
  }
  if (found && leads_to_branch(*found, full)) {
    return Error{Errc::invalid_argument, "'" + path + "' is a branch; name its session, and an entry of the branch"};
  }
  if (found) {
    return found;
  }
  if (!looks_like_path(path) && !is_log_name(stores, path)) {
    return Error{Errc::not_found,
                 "no session has an id that starts with '" + path + "'; 'arborfs ls' lists the sessions"};
  }
  return Error{Errc::not_found, "no session of this store is at " + path};
}

Result<SessionPtr> CatalogView::find(const std::string& spelled, const StoreSet& stores) const {
  const auto [agent, id] = split_agent(spelled);
  if (id == "latest") {
    const auto sessions = recent(agent.empty() ? 1 : SIZE_MAX);
    const auto newest = std::find_if(sessions.begin(), sessions.end(),
                                     [&agent = agent](const SessionPtr& one) { return is_of(*one, agent); });
    return newest != sessions.end() ? Result<SessionPtr>(*newest) : Error{Errc::not_found, "there are no sessions yet"};
  }
  if (auto session = by_id_prefix(id, agent)) {
    return session;
  }
  const auto named = with_name(*this, id, agent);
  if (named.size() > 1) {
    return Error{Errc::invalid_argument,
                 std::to_string(named.size()) + " sessions have this name; put the agent and a colon before it"};
  }
  if (!named.empty()) {
    return named.front();
  }
  if (spelled.find('/') != std::string::npos || is_log_name(stores, spelled)) {
    return find_by_path(spelled, stores);
  }
  const auto matches = count_prefix(*this, id, agent);
  if (matches > 1 && !id.empty()) {
    return Error{Errc::invalid_argument,
                 std::to_string(matches) + " sessions have an id with this prefix; give more of the id"};
  }
  const auto headless = id.empty() ? std::vector<SessionPtr>() : with_id_in_name(*this, id, agent);
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
  return find_by_path(spelled, stores);
}

namespace {

std::vector<std::size_t> starters_by_id(const std::vector<FamilyMember>& members) {
  std::map<std::pair<std::uint8_t, std::string_view>, std::size_t> by_id;
  for (std::size_t i = 0; i < members.size(); ++i) {
    by_id.try_emplace({members[i].store, members[i].id}, i);
  }
  std::vector<std::size_t> starter(members.size(), kNoStarter);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto found =
        members[i].started_by.empty() ? by_id.end() : by_id.find({members[i].store, members[i].started_by});
    starter[i] = found == by_id.end() ? kNoStarter : found->second;
  }
  return starter;
}

/// Removes the starters of all sessions that are in a cycle.
void break_circles(std::vector<std::size_t>& starter) {
  std::vector<std::size_t> walk(starter.size(), kNoStarter);  // the walk that visited each
  for (std::size_t i = 0; i < starter.size(); ++i) {
    std::size_t at = i;
    for (; at != kNoStarter && walk[at] == kNoStarter; at = starter[at]) {
      walk[at] = i;
    }
    const bool is_circle = at != kNoStarter && walk[at] == i;
    while (is_circle && starter[at] != kNoStarter) {
      at = std::exchange(starter[at], kNoStarter);
    }
  }
}

/// Also removes the starters of sessions that would be too deep.
std::vector<std::size_t> order_by_depth(std::vector<std::size_t>& starter) {
  std::vector<std::pair<std::size_t, std::size_t>> children;  // starter and child
  std::vector<std::size_t> order;
  order.reserve(starter.size());
  for (std::size_t i = 0; i < starter.size(); ++i) {
    if (starter[i] == kNoStarter) {
      order.push_back(i);
    } else {
      children.emplace_back(starter[i], i);
    }
  }
  std::sort(children.begin(), children.end());
  std::vector<std::size_t> depth(starter.size(), 0);
  for (std::size_t next = 0; next < order.size(); ++next) {
    const std::size_t at = order[next];
    for (auto child = std::lower_bound(children.begin(), children.end(), std::pair{at, std::size_t{0}});
         child != children.end() && child->first == at; ++child) {
      const bool is_too_deep = depth[at] == Families::kDeepest;
      depth[child->second] = is_too_deep ? 0 : depth[at] + 1;
      starter[child->second] = is_too_deep ? kNoStarter : at;
      order.push_back(child->second);
    }
  }
  return order;
}

}  // namespace

Families families_of(const std::vector<FamilyMember>& members) {
  Families families;
  const bool has_any =
      std::any_of(members.begin(), members.end(), [](const FamilyMember& one) { return !one.started_by.empty(); });
  families.starter = has_any ? starters_by_id(members) : std::vector<std::size_t>(members.size(), kNoStarter);
  break_circles(families.starter);
  families.order = order_by_depth(families.starter);
  return families;
}

std::string unique_name(std::string name, std::unordered_set<std::string>& taken) {
  std::string candidate = name;
  for (int number = 2; !taken.insert(candidate).second; ++number) {
    candidate = name + "~" + std::to_string(number);
  }
  return candidate;
}

std::string encoded_name(std::string_view text) {
  constexpr std::size_t kLongest = 240;  // bytes
  return names::encode(text, kLongest);
}

namespace {

/// A session and the facts from which its names are made, read once: a change meanwhile is noticed later.
struct Member {
  SessionPtr session;
  LogPlace place;
  Session::Identity identity;
  /// A log whose header cannot be read is identified by its name, which is the id for all agents with sub-agents.
  [[nodiscard]] std::string_view id() const { return identity.id.empty() ? place.stem() : identity.id; }
};
using Members = std::vector<const Member*>;

void sort_by_name(NamedSessions& rows) {
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

/// The log's name for omp and pi; for other agents it follows the agent's.
std::string shown_name(const Member& member) {
  const std::string stem(member.place.stem());
  const Format& format = member.session->format();
  return encoded_name(format.is_plain ? stem : std::string(format.agent) + "-" + stem);
}

/// See SessionFolder::native_names. `shown`: the names of all sessions of the folder.
NamedSessions native_names(const Members& members, const std::unordered_set<std::string>& shown) {
  NamedSessions all;
  for (const Member* member : members) {
    std::string name = encoded_name(member->place.stem());
    if (!member->session->format().is_plain && !shown.contains(name)) {
      all.emplace_back(std::move(name), member->session);
    }
  }
  sort_by_name(all);
  NamedSessions unique;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool is_repeated =
        (at > 0 && all[at - 1].first == all[at].first) || (at + 1 < all.size() && all[at + 1].first == all[at].first);
    if (!is_repeated) {
      unique.push_back(all[at]);
    }
  }
  return unique;
}

class ViewMaker {
 public:
  ViewMaker(const std::vector<SessionPtr>& sessions, std::vector<MovedSession>& moved) : moved_(moved) {
    members_.reserve(sessions.size());
    std::vector<FamilyMember> kin;
    for (const auto& session : sessions) {
      members_.push_back({session, session->place(), session->identity()});
    }
    for (const Member& member : members_) {
      kin.push_back({member.place.store, member.id(), member.identity.started_by});
    }
    families_ = families_of(kin);
  }

  std::shared_ptr<CatalogView> make(const std::string& home,
                                    const std::function<std::uint32_t(const std::string& cwd)>& number_of) {
    add_projects(home, number_of);
    add_children();
    name_by_id();
    list_shown();
    return std::move(view_);
  }

 private:
  /// Fills a folder with sessions, and sets the shown path of each. `path` is that of the folder, `taken` are the names
  /// of its other files.
  void fill(SessionFolder& folder, const std::string& path, const Members& members,
            std::unordered_set<std::string> taken) {
    folder.sessions.reserve(members.size());
    for (const Member* member : members) {
      Session& session = *member->session;
      folder.sessions.emplace_back(unique_name(shown_name(*member), taken), member->session);
      std::string shown = path + "/" + folder.sessions.back().first;
      std::string before = session.shown_path();
      if (!before.empty() && (before != shown || session.is_renamed())) {
        moved_.push_back({member->session, member->identity, std::move(before)});
      }
      session.set_shown_path(std::move(shown), member->identity);
    }
    sort_by_name(folder.sessions);
    folder.native_names = native_names(members, taken);
  }

  void note_places(const SessionFolderPtr& folder, const ProjectPtr& project, std::uint32_t starter) {
    for (std::size_t at = 0; at < folder->sessions.size(); ++at) {
      view_->where[folder->sessions[at].second->number()] = {project, folder, at, starter, 0};
    }
  }

  /// One per cwd. Names are assigned in byte order of cwd (CONTRACT.md 2.1).
  void add_projects(const std::string& home, const std::function<std::uint32_t(const std::string& cwd)>& number_of) {
    std::map<std::string_view, Members> by_cwd;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (families_.starter[i] == kNoStarter) {
        by_cwd[members_[i].identity.cwd].push_back(&members_[i]);
      }
    }
    std::unordered_set<std::string> taken;
    std::map<LogFolder, std::size_t> votes;
    for (const auto& [cwd, members] : by_cwd) {
      auto project = std::make_shared<Project>();
      project->cwd = cwd;
      project->number = number_of(project->cwd);
      project->name = unique_name(names::project_name(cwd, home), taken);
      fill(*project, "projects/" + project->name, members, {"cwd", "by-title"});
      note_places(project, project, 0);
      std::map<LogFolder, std::size_t> folders;
      for (const Member* member : members) {
        ++folders[member->place.in()];
      }
      for (const auto& [folder, count] : folders) {
        if (count > votes[folder]) {
          votes[folder] = count;
          view_->by_folder[folder] = project->name;
        }
      }
      view_->projects.push_back(std::move(project));
    }
    std::sort(view_->projects.begin(), view_->projects.end(),
              [](const auto& a, const auto& b) { return a->name < b->name; });
  }

  /// Once those in projects have their places.
  void add_children() {
    std::map<std::size_t, Members> children;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (families_.starter[i] != kNoStarter) {
        children[families_.starter[i]].push_back(&members_[i]);
      }
    }
    for (const std::size_t at : families_.order) {
      const auto members = children.empty() ? children.end() : children.find(at);
      if (members == children.end()) {
        continue;
      }
      const std::uint32_t starter = members_[at].session->number();
      auto folder = std::make_shared<SessionFolder>();
      fill(*folder, view_->path_of(starter) + "/children", members->second, {});
      note_places(folder, view_->where[starter].project, starter);
      view_->children[starter] = std::move(folder);
    }
  }

  /// The sessions come in the order of their stores.
  void name_by_id() {
    view_->by_id.reserve(members_.size());
    std::unordered_set<std::string> taken;
    std::unordered_map<std::string, std::uint8_t> store_of;  // by id, of the session that has the plain one
    for (const Member& member : members_) {
      std::string name = encoded_name(member.id());
      if (store_of.try_emplace(name, member.place.store).first->second != member.place.store) {
        name += "@" + std::string(member.session->store().format().agent);
      }
      view_->by_id.emplace_back(unique_name(std::move(name), taken), member.session);
    }
    sort_by_name(view_->by_id);
    for (std::uint32_t at = 0; at < view_->by_id.size(); ++at) {
      const Session& session = *view_->by_id[at].second;
      view_->by_agent[session.agent()].push_back(at);
      view_->where.find(session.number())->second.id_at = at;
    }
  }

  void list_shown() {
    view_->shown.reserve(view_->where.size());
    for (const ProjectPtr& project : view_->projects) {
      for (const auto& [name, session] : project->sessions) {
        view_->shown.push_back(&view_->where.find(session->number())->second);
      }
    }
    for (const auto& [id, session] : view_->by_id) {
      if (view_->is_child(session->number())) {
        view_->shown.push_back(&view_->where.find(session->number())->second);
      }
    }
  }

  std::vector<Member> members_;
  Families families_;
  std::shared_ptr<CatalogView> view_ = std::make_shared<CatalogView>();
  std::vector<MovedSession>& moved_;
};

}  // namespace

std::shared_ptr<CatalogView> make_catalog_view(const std::vector<SessionPtr>& sessions, const std::string& home,
                                               const std::function<std::uint32_t(const std::string& cwd)>& number_of,
                                               std::vector<MovedSession>& moved) {
  return ViewMaker(sessions, moved).make(home, number_of);
}

}  // namespace arborfs
