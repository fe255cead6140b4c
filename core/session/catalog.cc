#include "core/session/catalog.h"

#include <algorithm>
#include <list>
#include <set>
#include <unordered_set>

#include "core/render/names.h"
#include "core/session/document_cache.h"
#include "core/session/first_look.h"
#include "core/session/loaded_indexes.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxErrors = 20;

/// `name`, or `name~2`, `name~3`, ... - the first that is not taken yet.
std::string unique_name(std::string name, std::unordered_set<std::string>& taken) {
  std::string candidate = name;
  for (int number = 2; !taken.insert(candidate).second; ++number) {
    candidate = name + "~" + std::to_string(number);
  }
  return candidate;
}

}  // namespace

/// A session with what its names come from, read once, so that a change while a view is made is noticed later.
struct Catalog::Placed {
  SessionPtr session;
  LogPlace place;
  Session::Standing standing;
};

struct Catalog::Known {
  std::map<LogPlace, SessionPtr> sessions;
  std::map<std::string, std::uint32_t> project_numbers;  // by cwd
  std::uint32_t last_session = 0;
  std::uint32_t last_project = 0;
  std::uint64_t version = 0;
};

/// What one rescan found, before it is decided what moved, came and went.
struct Catalog::Placing {
  FirstLook found;  // folders that have been looked into
  std::list<FoundLog> appeared;
  std::vector<SessionPtr> missing;
  std::vector<SessionPtr> changed;
};

Catalog::Catalog(std::shared_ptr<SessionStore> store, std::string home, const std::string& state,
                 std::optional<std::size_t> most_index_bytes)
    : store_(std::move(store)),
      home_(std::move(home)),
      leaves_(state.empty() ? "" : state + "/leaves", store_->paths().sessions, store_->disk()),
      erased_(state, store_->paths().sessions, store_->disk()),
      documents_(std::make_unique<DocumentCache>()),
      loaded_(most_index_bytes ? std::make_unique<LoadedIndexes>(*most_index_bytes) : nullptr),
      shared_{store_, &feed_, &leaves_, &erased_, documents_.get(), loaded_.get(), {}},
      known_(std::make_unique<Known>()),
      view_(std::make_shared<CatalogView>()) {}

Catalog::~Catalog() {
  feed_.close();
}

CatalogViewPtr Catalog::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

std::vector<std::string> Catalog::last_errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

void Catalog::note_error(std::string text) {
  const std::lock_guard lock(mutex_);
  if (!errors_.empty() && errors_.back() == text) {
    return;
  }
  errors_.push_back(std::move(text));
  if (errors_.size() > kMaxErrors) {
    errors_.erase(errors_.begin());
  }
}

std::vector<SessionPtr> Catalog::all_sessions() const {
  const std::lock_guard lock(mutex_);
  std::vector<SessionPtr> sessions;
  sessions.reserve(known_->sessions.size());
  for (const auto& [place, session] : known_->sessions) {
    sessions.push_back(session);
  }
  return sessions;
}

void Catalog::rescan_folder_locked(const std::string& folder, Placing& placing) {
  std::vector<FoundLog> logs;
  const auto looked = placing.found.find(folder);
  const auto is_new = [this](const LogPlace& place) { return at(place) == nullptr; };
  auto found = looked != placing.found.end() ? std::move(looked->second) : store_->logs(folder, is_new);
  if (found) {
    logs = std::move(found).value();
  } else if (found.error().code != Errc::not_found) {
    note_error("folder " + folder + ": " + found.error().message);
    return;
  }
  const std::lock_guard lock(mutex_);
  std::set<std::string> present;  // of those that are known
  for (auto& log : logs) {
    const auto known = known_->sessions.find(log.place);
    if (known == known_->sessions.end()) {
      placing.appeared.push_back(std::move(log));
      continue;
    }
    if (known->second->looks_changed(log.stat)) {
      placing.changed.push_back(known->second);
    }
    present.insert(std::move(log.place.file));
  }
  for (auto it = known_->sessions.lower_bound({folder, ""}); it != known_->sessions.end() && it->first.folder == folder;
       ++it) {
    if (!present.contains(it->first.file)) {
      placing.missing.push_back(it->second);
    }
  }
}

/// A log that vanished here and appeared there with the same inode has moved; its session lives on.
void Catalog::settle(Placing& placing, std::vector<SessionPtr>& added, std::vector<SessionPtr>& removed) {
  const std::lock_guard lock(mutex_);
  for (const auto& session : placing.missing) {
    known_->sessions.erase(session->place());
    const auto same = std::find_if(placing.appeared.begin(), placing.appeared.end(),
                                   [&](const FoundLog& log) { return log.stat.same_file(session->head().stat); });
    if (same == placing.appeared.end()) {
      removed.push_back(session);
      continue;
    }
    session->moved_to(same->place);
    known_->sessions[same->place] = session;
    placing.appeared.erase(same);
  }
  for (; !placing.appeared.empty(); placing.appeared.pop_front()) {
    FoundLog& log = placing.appeared.front();
    LogPlace place = log.place;
    added.push_back(std::make_shared<Session>(++known_->last_session, std::move(log), shared_));
    known_->sessions[std::move(place)] = added.back();
  }
}

void Catalog::finish(Placing& placing) {
  for (const auto& session : placing.changed) {
    refresh_known(session);
  }
  if (placing.appeared.empty() && placing.missing.empty()) {
    return;
  }
  std::vector<SessionPtr> added;
  std::vector<SessionPtr> removed;
  settle(placing, added, removed);
  for (const auto& session : added) {
    if (session->has_head()) {
      continue;
    }
    if (auto read = session->refresh(Depth::head); !read && read.error().code != Errc::not_found) {
      note_error("log " + session->stem() + ": " + read.error().message);
    }
  }
  for (const auto& session : removed) {
    session->mark_gone();
  }
  rebuild_view();
  for (const auto& session : removed) {
    publish(session, Change::Kind::session_removed);
  }
  for (const auto& session : added) {
    publish(session, Change::Kind::session_added);
  }
  publish_catalog_changed();
}

void Catalog::publish(const SessionPtr& session, Change::Kind kind) {
  Change change;
  change.kind = kind;
  change.session = session->number();
  change.session_id = session->standing().id;
  change.path = session->shown_path();
  feed_.publish(std::move(change));
}

void Catalog::publish_catalog_changed() {
  Change changed;
  changed.kind = Change::Kind::catalog_changed;
  feed_.publish(std::move(changed));
}

void Catalog::rescan() {
  const std::lock_guard scanning(rescan_mutex_);
  std::set<std::string> folders;
  if (auto found = store_->folders()) {
    folders.insert(found->begin(), found->end());
  } else if (found.error().code != Errc::not_found) {
    note_error("sessions folder: " + found.error().message);
    return;
  }
  const auto known = all_sessions();
  for (const auto& session : known) {
    folders.insert(session->place().folder);
  }
  Placing placing;
  if (known.empty()) {
    placing.found = look_first(*store_, folders);
  }
  for (const auto& folder : folders) {
    rescan_folder_locked(folder, placing);
  }
  finish(placing);
}

void Catalog::rescan_folder(const std::string& folder) {
  const std::lock_guard scanning(rescan_mutex_);
  Placing placing;
  rescan_folder_locked(folder, placing);
  finish(placing);
}

SessionPtr Catalog::at(const LogPlace& place) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_->sessions.find(place);
  return found == known_->sessions.end() ? nullptr : found->second;
}

void Catalog::relocate(const SessionPtr& session, const LogPlace& to) {
  const std::lock_guard scanning(rescan_mutex_);
  {
    const std::lock_guard lock(mutex_);
    known_->sessions.erase(session->place());
    session->moved_to(to);
    known_->sessions[to] = session;
  }
  static_cast<void>(session->refresh(Depth::head));
  publish(session, Change::Kind::session_removed);
  rebuild_view();
  publish(session, Change::Kind::session_added);
  publish_catalog_changed();
}

void Catalog::touch(const LogPlace& place) {
  const SessionPtr session = at(place);
  if (!session) {
    rescan_folder(place.folder);
    return;
  }
  const std::lock_guard scanning(rescan_mutex_);
  refresh_known(session);
  if (session->head().problem.empty()) {
    return;
  }
  Placing placing;
  rescan_folder_locked(place.folder, placing);
  placing.changed.clear();
  finish(placing);
}

void Catalog::leaves_changed() {
  for (const auto& session : all_sessions()) {
    session->reload_leaf();
  }
}

void Catalog::age_tails() {
  for (const auto& session : all_sessions()) {
    if (session->looks_changed(session->stat())) {
      touch(session->place());
    }
  }
}

void Catalog::tidy() {
  if (loaded_) {
    loaded_->tidy();
  }
}

void Catalog::refresh_known(const SessionPtr& session) {
  if (auto refreshed = session->follow(); !refreshed) {
    if (refreshed.error().code != Errc::not_found) {
      note_error("log " + session->stem() + ": " + refreshed.error().message);
    }
    return;
  }
  if (session->is_misplaced()) {
    rebuild_view();
    publish_catalog_changed();
  }
}

/// The projects of a view, one a cwd, in byte order of cwd while names are given out (DESIGN 2).
void Catalog::add_projects(CatalogView& view, const std::vector<Placed>& sessions) {
  std::map<std::string_view, std::vector<const Placed*>> by_cwd;
  for (const auto& placed : sessions) {
    by_cwd[placed.standing.cwd].push_back(&placed);
  }
  std::unordered_set<std::string> taken;
  std::map<std::string_view, std::size_t> votes;
  for (const auto& [cwd, members] : by_cwd) {
    const ProjectPtr project = make_project(members, unique_name(names::project_name(cwd, home_), taken));
    std::map<std::string_view, std::size_t> folders;
    for (const Placed* placed : members) {
      ++folders[placed->place.folder];
    }
    for (std::size_t at = 0; at < project->sessions.size(); ++at) {
      view.where[project->sessions[at].second->number()] = {project, at};
    }
    for (const auto& [folder, count] : folders) {
      if (count > votes[folder]) {
        votes[folder] = count;
        view.by_folder[std::string(folder)] = project->name;
      }
    }
    view.projects.push_back(project);
  }
  std::sort(view.projects.begin(), view.projects.end(), [](const auto& a, const auto& b) { return a->name < b->name; });
}

/// The project of these sessions, which have one cwd; tells each where it is shown.
ProjectPtr Catalog::make_project(const std::vector<const Placed*>& members, std::string name) {
  auto project = std::make_shared<Project>();
  project->cwd = members.front()->standing.cwd;
  project->number = project_number(project->cwd);
  project->name = std::move(name);
  project->sessions.reserve(members.size());
  std::unordered_set<std::string> taken;
  for (const Placed* placed : members) {
    project->sessions.emplace_back(unique_name(names::encode(placed->place.stem(), 240), taken), placed->session);
    placed->session->set_shown_path("projects/" + project->name + "/" + project->sessions.back().first,
                                    placed->standing);
  }
  std::sort(project->sessions.begin(), project->sessions.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
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

void Catalog::rebuild_view() {
  const auto all = all_sessions();
  std::vector<Placed> sessions;
  sessions.reserve(all.size());
  for (const auto& session : all) {
    sessions.push_back({session, session->place(), session->standing()});
  }
  auto view = std::make_shared<CatalogView>();
  add_projects(*view, sessions);
  view->by_id.reserve(sessions.size());
  std::unordered_set<std::string> taken;
  for (const auto& [session, place, standing] : sessions) {
    const std::string_view id = standing.id.empty() ? place.stem() : std::string_view(standing.id);
    view->by_id.emplace_back(unique_name(names::encode(id, 240), taken), session);
  }
  std::sort(view->by_id.begin(), view->by_id.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::lock_guard lock(mutex_);
  view->version = ++known_->version;
  view_ = std::move(view);
}

std::vector<NamedSession> Catalog::terminals() const {
  std::vector<NamedSession> named;
  const auto crumbs = store_->breadcrumbs();
  const std::lock_guard lock(mutex_);
  for (const auto& crumb : crumbs) {
    const auto found = known_->sessions.find(crumb.place);
    if (found != known_->sessions.end()) {
      named.push_back({names::encode(crumb.terminal, 240), found->second});
    }
  }
  return named;
}

}  // namespace arborfs
