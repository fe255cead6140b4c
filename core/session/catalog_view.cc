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

SessionPtr find_row(const NamedSessions& rows, std::string_view name) {
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

/// A log's name as a file name; for other agents than omp and pi it follows the agent's.
std::string log_name(const Format& format, std::string_view stem) {
  return encoded_name(format.is_plain ? std::string(stem) : std::string(format.agent) + "-" + std::string(stem));
}

/// The sessions with this name in the tree or on disk, one per agent: if several logs have the name, that of the first
/// store. `agent`: "" for all.
std::vector<SessionPtr> with_name(const CatalogView& view, std::string_view name, std::string_view agent) {
  std::vector<SessionPtr> found;
  for (const ShownAt* shown : view.shown) {
    const SessionPtr& session = shown->session();
    const std::string stem = session->stem();
    const bool is_named = shown->name() == name || stem == name || log_name(session->format(), stem) == name;
    if (!is_of(*session, agent) || !is_named) {
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

}  // namespace

SessionPtr SessionFolder::find(std::string_view name) const {
  const auto shown = find_row(sessions, name);
  return shown ? shown : find_row(log_names, name);
}

SessionPtr CatalogView::find_in(const SessionFolder& folder, std::string_view name) const {
  if (auto here = folder.find(name)) {
    return here;
  }
  auto session = named(name);
  const auto at = session ? where.find(session->number()) : where.end();
  return at != where.end() && at->second.folder.get() == &folder ? session : nullptr;
}

SessionPtr CatalogView::named(std::string_view name) const {
  if (!names) {
    const auto at = std::find_if(shown.begin(), shown.end(), [&](const ShownAt* one) { return one->name() == name; });
    return at != shown.end() ? (*at)->session() : find_row(by_id, name);
  }
  auto found = session(names->find(name));
  return found ? found : find_row(by_id, name);
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

const NamedSessions& CatalogView::children_of(std::uint32_t number) const {
  static const NamedSessions kNone;
  const auto found = children.find(number);
  return found == children.end() ? kNone : found->second->sessions;
}

std::vector<SessionPtr> CatalogView::descendants_of(std::uint32_t number) const {
  std::vector<SessionPtr> all;
  std::vector<std::uint32_t> waiting{number};
  while (!waiting.empty()) {
    const std::uint32_t starter = waiting.back();
    waiting.pop_back();
    for (const auto& [name, child] : children_of(starter)) {
      all.push_back(child);
      waiting.push_back(child->number());
    }
  }
  return all;
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

/// The innermost session on a path into a mount, by any of its names there.
CatalogView::OnPath CatalogView::find_on_path(std::string_view path) const {
  const auto take = [&path](std::string_view folder) -> std::string_view {  // the name behind the folder's
    if (!path.starts_with(folder)) {
      return "";
    }
    const std::string_view name = path.substr(folder.size(), path.find('/', folder.size()) - folder.size());
    path.remove_prefix(folder.size() + name.size());
    return name;
  };
  constexpr std::string_view kTop = "/projects/";
  for (std::size_t at = path.rfind(kTop); at != std::string_view::npos;
       at = at == 0 ? at - 1 : path.rfind(kTop, at - 1)) {
    const std::string_view whole = path;
    path.remove_prefix(at);
    const std::string_view folder = take(kTop);
    auto of_project = project(folder);
    of_project = of_project ? of_project : project_of_folder(folder);
    OnPath found{of_project ? find_in(*of_project, take("/")) : nullptr, path};
    for (auto inner = found.session; inner;) {
      found = {inner, path};
      const auto below = children.find(inner->number());
      inner = below == children.end() ? nullptr : find_in(*below->second, take("/children/"));
    }
    if (found.session) {
      return found;
    }
    path = whole;
  }
  return {};
}

Result<SessionPtr> CatalogView::find_by_path(const std::string& path, const StoreSet& stores) const {
  std::error_code failed;
  std::string full = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed).string();
  for (const auto& [id, session] : by_id) {
    const LogPlace place = session->place();
    const std::string log = session->store().path_of(place);
    if (full == log || full == without_ending(log, place)) {
      return session;
    }
  }
  const auto [found, rest] = find_on_path(full);
  if (found && rest.starts_with("/branches/")) {
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
  std::string stem;  // as it is shown
  Session::Identity identity;
  std::string log_name;
  std::string name;  // "" for one after its log
  /// A log whose header cannot be read is identified by its name, which is the id for all agents with sub-agents.
  [[nodiscard]] std::string_view id() const { return identity.id.empty() ? stem : identity.id; }
};
using Members = std::vector<const Member*>;

void sort_by_name(NamedSessions& rows) {
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

/// Adds the names of logs without an agent that no name of `taken` is and only one session has.
void add_bare_names(const Members& members, const std::unordered_set<std::string>& taken, NamedSessions& names) {
  NamedSessions all;
  for (const Member* member : members) {
    std::string name = encoded_name(member->stem);
    if (!member->session->format().is_plain && !taken.contains(name)) {
      all.emplace_back(std::move(name), member->session);
    }
  }
  sort_by_name(all);
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool is_repeated =
        (at > 0 && all[at - 1].first == all[at].first) || (at + 1 < all.size() && all[at + 1].first == all[at].first);
    if (!is_repeated) {
      names.push_back(std::move(all[at]));
    }
  }
}

class ViewMaker {
 public:
  ViewMaker(const std::vector<SessionPtr>& sessions, const std::shared_ptr<SessionNames>& names,
            std::vector<MovedSession>& moved)
      : moved_(moved) {
    view_->names = names;
    members_.reserve(sessions.size());
    std::vector<FamilyMember> kin;
    for (const auto& session : sessions) {
      LogPlace place = session->place();
      std::string stem = session->shown_stem();
      std::string of_log = log_name(session->format(), stem);
      members_.push_back({session, std::move(place), std::move(stem), session->identity(), std::move(of_log), ""});
    }
    if (names) {
      name_members(*names);
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
  void name_members(SessionNames& names) {
    std::vector<SessionNames::Named> all;
    all.reserve(members_.size());
    for (const Member& member : members_) {
      all.push_back({member.session, member.identity.naming, member.log_name});
    }
    auto named = names.name(all);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].name = std::move(named[i]);
    }
  }

  /// Fills a folder with sessions, and sets the shown path of each. `path` is that of the folder, `taken` are the names
  /// of its other files.
  void fill(SessionFolder& folder, const std::string& path, const Members& members,
            std::unordered_set<std::string> taken) {
    std::unordered_set<std::string> log_names = taken;
    folder.sessions.reserve(members.size());
    for (const Member* member : members) {
      const std::string of_log = unique_name(member->log_name, log_names);
      const std::string shown = member->name.empty() ? of_log : unique_name(member->name, taken);
      folder.sessions.emplace_back(shown, member->session);
      if (shown != of_log) {
        folder.log_names.emplace_back(of_log, member->session);
      }
      show(*member, path + "/" + shown);
    }
    sort_by_name(folder.sessions);
    add_bare_names(members, log_names, folder.log_names);
    sort_by_name(folder.log_names);
  }

  void show(const Member& member, std::string path) {
    Session& session = *member.session;
    std::string before = session.shown_path();
    const bool is_under_other_id = session.is_renamed();
    if (!before.empty() && (before != path || is_under_other_id)) {
      moved_.push_back({member.session, member.identity, std::move(before), is_under_other_id});
    }
    Session::Identity by = member.identity;
    by.naming = view_->names ? std::optional(by.naming.value_or(0)) : std::nullopt;
    session.set_shown_path(std::move(path), by);
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
      fill(*project, "projects/" + project->name, members, {"cwd"});
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
                                               const std::shared_ptr<SessionNames>& names,
                                               const std::function<std::uint32_t(const std::string& cwd)>& number_of,
                                               std::vector<MovedSession>& moved) {
  return ViewMaker(sessions, names, moved).make(home, number_of);
}

}  // namespace arborfs
