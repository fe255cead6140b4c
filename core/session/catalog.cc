#include "core/session/catalog.h"

#include <algorithm>
#include <set>

#include "core/session/catalog_known.h"
#include "core/session/loaded_indexes.h"
#include "core/session/parallel_scan.h"
#include "core/session/view_cache.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxErrors = 20;

}  // namespace

Catalog::Catalog(StoreSet stores, std::string home, const std::string& state,
                 std::optional<std::size_t> most_index_bytes)
    : stores_(std::move(stores)),
      home_(std::move(home)),
      documents_(std::make_unique<ViewCache>()),
      loaded_(most_index_bytes ? std::make_unique<LoadedIndexes>(*most_index_bytes) : nullptr),
      states_(states_in(state)),
      known_(std::make_unique<Known>()),
      view_(std::make_shared<CatalogView>()) {}

Catalog::~Catalog() {
  feed_.close();
}

std::vector<std::unique_ptr<Catalog::OfStore>> Catalog::states_in(const std::string& folder) {
  std::vector<std::unique_ptr<OfStore>> states;
  for (const auto& store : stores_) {
    states.push_back(std::make_unique<OfStore>(store, folder, *this));
  }
  return states;
}

StoreState& Catalog::state(std::uint8_t store) const {
  return states_[store]->state;
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

void Catalog::rescan_folder_locked(const LogFolder& folder, Placing& placing) {
  std::vector<FoundLog> logs;
  const auto looked = placing.found.find(folder);
  const auto is_new = [this](const LogPlace& place) {
    const std::lock_guard lock(mutex_);
    return !known_->sessions.contains(place) && !known_->left_out.contains(place);
  };
  auto found = looked != placing.found.end() ? std::move(looked->second) : stores_.logs(folder, is_new);
  if (!found && found.error().code != Errc::not_found) {
    leave_out(folder, found.error());
    return;
  }
  if (found) {
    logs = std::move(found).value();
  }
  const std::lock_guard lock(mutex_);
  forget_left_out(folder);
  std::set<std::string> present;  // files of known logs
  for (auto& log : logs) {
    if (log.is_linked) {
      known_->linked.insert(log.place);
    }
    if (!log.left_out.empty()) {
      known_->left_out.emplace(std::move(log.place), std::move(log.left_out));
      continue;
    }
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
  for (auto it = known_->sessions.lower_bound({folder.name, "", folder.store});
       it != known_->sessions.end() && it->first.in() == folder; ++it) {
    if (!present.contains(it->first.file)) {
      placing.missing.push_back(it->second);
    }
  }
}

/// A log that vanished in one place and appeared in another with the same inode has moved; it keeps its session.
void Catalog::settle(Placing& placing, std::vector<SessionPtr>& added, std::vector<SessionPtr>& removed) {
  const std::lock_guard lock(mutex_);
  for (const auto& session : placing.missing) {
    known_->sessions.erase(session->place());
    const auto same = placing.place_of(*session);
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
    Session::Shared& shared = states_[log.place.store]->shared;
    added.push_back(std::make_shared<Session>(++known_->last_session, std::move(log), shared));
  }
}

/// Called before the sessions become visible: their names come from their heads.
void Catalog::read_heads(const std::vector<SessionPtr>& added) {
  for (const auto& session : added) {
    if (session->has_head()) {
      continue;
    }
    if (auto read = session->refresh(Depth::head); !read && read.error().code != Errc::not_found) {
      note_error("log " + session->stem() + ": " + read.error().message);
    }
  }
  const std::lock_guard lock(mutex_);
  for (const auto& session : added) {
    known_->sessions[session->place()] = session;
  }
}

void Catalog::finish(Placing& placing) {
  leave_out_second_names(placing);
  for (const auto& session : placing.changed) {
    refresh_known(session);
  }
  if (placing.appeared.empty() && placing.missing.empty()) {
    return;
  }
  std::vector<SessionPtr> added;
  std::vector<SessionPtr> removed;
  settle(placing, added, removed);
  read_heads(added);
  for (const auto& session : removed) {
    session->mark_gone();
  }
  const CatalogViewPtr before = view();
  rebuild_view();
  for (const auto& session : removed) {
    publish(session, Change::Kind::session_removed, *before);
  }
  const CatalogViewPtr now = view();
  for (const auto& session : added) {
    publish(session, Change::Kind::session_added, *now);
  }
  publish_catalog_changed();
}

void Catalog::publish_catalog_changed() {
  Change changed;
  changed.kind = Change::Kind::catalog_changed;
  feed_.publish(std::move(changed));
}

/// The folders of these stores that can be listed, and those of known sessions in them. `only`: of a store that is a
/// submount; else of all that are none.
std::set<LogFolder> Catalog::folders_to_scan(const std::vector<SessionPtr>& known, std::optional<std::uint8_t> only) {
  std::set<LogFolder> folders;
  std::vector<bool> is_readable(stores_.size(), false);
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    if (only ? *only != number : is_submount(number)) {
      continue;
    }
    is_readable[number] = true;
    if (auto found = stores_.folders(static_cast<std::uint8_t>(number))) {
      folders.insert(found->begin(), found->end());
    } else if (found.error().code != Errc::not_found) {
      note_error("sessions folder: " + found.error().message);
      is_readable[number] = false;
    }
  }
  for (const auto& session : known) {
    if (is_readable[session->store_number()]) {
      folders.insert(session->place().in());
    }
  }
  for (const auto& folder : submounts()) {
    folders.erase(folder);
  }
  return folders;
}

void Catalog::rescan() {
  const std::lock_guard scanning(rescan_mutex_);
  rescan_all(all_sessions(), std::nullopt);
}

/// `only`: as for folders_to_scan. The caller has the turn.
void Catalog::rescan_all(const std::vector<SessionPtr>& known, std::optional<std::uint8_t> only) {
  const auto folders = folders_to_scan(known, only);
  Placing placing;
  if (known.empty()) {
    placing.found = scan_folders(stores_, folders);
  }
  rescan_locked(folders, placing);
  forget_other_folders(folders, only);
  finish(placing);
}

/// Does not assume at once that a log is gone: a log that moved during the scan, from a folder not yet scanned to one
/// already scanned, was seen in neither.
void Catalog::rescan_locked(const std::set<LogFolder>& folders, Placing& placing) {
  const auto scan = [&] {
    for (const auto& folder : folders) {
      rescan_folder_locked(folder, placing);
    }
  };
  scan();
  if (folders.size() > 1 && placing.has_lost_any()) {
    placing = {};
    scan();
  }
}

void Catalog::rescan_folders(const std::set<LogFolder>& folders) {
  std::set<LogFolder> together;
  for (const auto& folder : folders) {
    if (is_submount(folder)) {
      rescan_in_turn(turn_of(folder), {folder});
    } else {
      together.insert(folder);
    }
  }
  if (!together.empty()) {
    rescan_in_turn(rescan_mutex_, together);
  }
}

void Catalog::rescan_in_turn(std::mutex& turn, const std::set<LogFolder>& folders) {
  const std::lock_guard scanning(turn);
  Placing placing;
  rescan_locked(folders, placing);
  finish(placing);
}

SessionPtr Catalog::at(const LogPlace& place) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_->sessions.find(place);
  return found == known_->sessions.end() ? nullptr : found->second;
}

void Catalog::relocate(const SessionPtr& session, const LogPlace& to) {
  std::unique_lock leaving(turn_of(session->place().in()), std::defer_lock);
  std::unique_lock coming(turn_of(to.in()), std::defer_lock);
  if (leaving.mutex() == coming.mutex()) {
    leaving.lock();
  } else {
    std::lock(leaving, coming);
  }
  {
    const std::lock_guard lock(mutex_);
    known_->sessions.erase(session->place());
    session->moved_to(to);
    known_->sessions[to] = session;
  }
  static_cast<void>(session->refresh(Depth::head));
  rebuild_view();
  publish_catalog_changed();
}

void Catalog::touch(const LogPlace& place) {
  const SessionPtr session = at(place);
  if (!session) {
    rescan_folder(place.in());
    return;
  }
  {
    const std::lock_guard scanning(turn_of(place.in()));
    refresh_known(session);
    if (session->head().problem.empty()) {
      return;
    }
    if (is_submount(place.in()) || !has_left(place)) {
      Placing placing;
      rescan_folder_locked(place.in(), placing);
      placing.changed.clear();
      finish(placing);
      return;
    }
  }
  rescan();  // it may have moved to any folder
}

bool Catalog::has_left(const LogPlace& place) const {
  const auto found = stores_.at(place.store)->stat(place);
  return !found && found.error().code == Errc::not_found;
}

void Catalog::leaves_changed() {
  for (const auto& session : all_sessions()) {
    if (!is_submount(session->place().in())) {
      session->reload_leaf();
    }
  }
}

void Catalog::age_tails() {
  for (const auto& session : all_sessions()) {
    if (session->looks_changed(session->stat()) && !is_submount(session->place().in())) {
      touch(session->place());
    }
  }
}

void Catalog::look_for_blobs() {
  for (std::size_t number = 0; number < states_.size(); ++number) {
    if (!is_submount(number)) {
      look_for_blobs_of(*states_[number]);
    }
  }
}

void Catalog::look_for_blobs_of(const OfStore& of) {
  AwaitedBlobs& awaited = *of.state.awaited_blobs;
  if (awaited.is_empty()) {
    return;
  }
  const SessionStore& store = *of.shared.store;
  const auto folder = Dir::open_root(store.paths().blobs);
  const auto st = folder ? folder->stat() : Result<FileStat>(folder.error());
  const auto changed = awaited.take_changed(*store.blobs(), st ? std::optional(*st) : std::nullopt);
  const auto now = view();
  for (const std::uint32_t number : changed) {
    if (const auto session = now->session(number)) {
      session->begin_anew();
    }
  }
}

void Catalog::tidy() {
  if (loaded_) {
    loaded_->tidy([this](const Session& session) { return is_submount(session.place().in()); });
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

}  // namespace arborfs
