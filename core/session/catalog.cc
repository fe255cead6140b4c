#include "core/session/catalog.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <tuple>
#include <utility>

#include "core/base/threads.h"
#include "core/os/links.h"
#include "core/os/submounts.h"
#include "core/session/loaded_indexes.h"
#include "core/session/view_cache.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxErrors = 20;
constexpr std::string_view kSecondName = "another name of a session's log";

/// The store, device and inode of a file, whatever its names are.
using FileOfStore = std::tuple<std::uint8_t, std::uint64_t, std::uint64_t>;

FileOfStore file_of(std::uint8_t store, const FileStat& st) {
  return {store, st.dev, st.ino};
}

LogFolder whole(std::size_t store) {
  return {static_cast<std::uint8_t>(store), std::string(kWholeStore)};
}

/// By folder: its logs with their heads, as StoreSet::logs found them, or the error.
using FolderScans = std::map<LogFolder, Result<std::vector<FoundLog>>>;

/// Scans these folders on two threads.
FolderScans scan_folders(const StoreSet& stores, const std::set<LogFolder>& folders) {
  const std::vector<LogFolder> names(folders.begin(), folders.end());
  std::vector<std::optional<Result<std::vector<FoundLog>>>> looks(names.size());
  parallel_for(names.size(),
               [&](std::size_t i) { looks[i] = stores.logs(names[i], [](const LogPlace&) { return true; }); });
  FolderScans found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    found.emplace(names[i], std::move(*looks[i]));
  }
  return found;
}

}  // namespace

/// The state that the sessions of one store share.
struct Catalog::OfStore {
  OfStore(const std::shared_ptr<Store>& store, std::uint8_t number, const std::string& folder, Catalog& catalog)
      : state(*store, folder),
        shared{store,
               number,
               &catalog.feed_,
               &state,
               catalog.documents_.get(),
               catalog.loaded_.get(),
               catalog.notes_.get(),
               catalog.generations_} {}
  StoreState state;
  Session::Shared shared;
};

/// The findings of one rescan, before they are sorted into moved, new and vanished logs.
struct Catalog::Placing {
  FolderScans found;  // folders that have been listed already
  std::list<FoundLog> appeared;
  std::vector<SessionPtr> missing;
  std::vector<SessionPtr> changed;

  /// The new place of a log that is missing; appeared.end() if it was not found.
  [[nodiscard]] std::list<FoundLog>::iterator place_of(const Session& gone) {
    return std::find_if(appeared.begin(), appeared.end(),
                        [stat = gone.stat(), store = gone.store_number()](const FoundLog& log) {
                          return log.place.store == store && log.stat.same_file(stat);
                        });
  }
  [[nodiscard]] bool has_lost_any() {
    return std::any_of(missing.begin(), missing.end(),
                       [this](const SessionPtr& gone) { return place_of(*gone) == appeared.end(); });
  }
};

struct Catalog::Known {
  std::map<LogPlace, SessionPtr> sessions;
  /// Why a name in a folder of logs is no session (FoundLog::left_out); with the file "", why the folder has no logs.
  std::map<LogPlace, std::string> left_out;
  std::set<LogPlace> linked;  // sessions, and names in left_out, to which a symbolic link leads
  std::set<LogFolder> submounts;
  std::map<LogFolder, std::unique_ptr<std::mutex>>
      submount_turns;                                    // like rescan_mutex_, for each that ever was a submount
  std::map<std::string, std::uint32_t> project_numbers;  // by cwd
  std::uint32_t last_session = 0;
  std::uint32_t last_project = 0;
  std::uint64_t version = 0;
};

Catalog::Catalog(StoreSet stores, std::string home, const std::string& state,
                 std::optional<std::size_t> most_index_bytes)
    : stores_(std::move(stores)),
      home_(std::move(home)),
      documents_(std::make_unique<ViewCache>()),
      loaded_(most_index_bytes ? std::make_unique<LoadedIndexes>(*most_index_bytes) : nullptr),
      notes_(std::make_unique<Notes>(state.empty() ? "" : data_path("notes"),
                                     stores_.begin() == stores_.end() ? Disk::real() : stores_.at(0)->disk(),
                                     stores_.redaction())),
      states_(states_in(state)),
      operations_(std::make_unique<Operations>(state, notes_->disk())),
      known_(std::make_unique<Known>()),
      view_(std::make_shared<CatalogView>()) {}

Catalog::~Catalog() {
  feed_.close();
}

std::vector<std::unique_ptr<Catalog::OfStore>> Catalog::states_in(const std::string& folder) {
  std::vector<std::unique_ptr<OfStore>> states;
  for (const auto& store : stores_) {
    states.push_back(std::make_unique<OfStore>(store, static_cast<std::uint8_t>(states.size()), folder, *this));
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
    if (session->has(Depth::head)) {
      continue;
    }
    if (auto read = session->refresh(Depth::head); !read && read.error().code != Errc::not_found) {
      note_error("log " + session->stem() + ": " + read.error().message);
    }
  }
  reload_notes(added);
  if (words_ != Words::not_read) {
    static_cast<void>(read_words(added));
  }
  const std::lock_guard lock(mutex_);
  for (const auto& session : added) {
    known_->sessions[session->place()] = session;
  }
}

void Catalog::finish(Placing& placing) {
  leave_out_second_names(placing);
  refresh_known(placing.changed);
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
    refresh_known({session});
    if (session->is_readable()) {
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

void Catalog::reload_notes(const std::vector<SessionPtr>& sessions) {
  if (const auto done = arborfs::reload_notes(*notes_, sessions); !done) {
    note_error("notes: " + done.error().message);
  }
}

void Catalog::notes_changed() {
  auto sessions = all_sessions();
  std::erase_if(sessions, [this](const SessionPtr& session) { return is_submount(session->place().in()); });
  reload_notes(sessions);
  std::erase_if(sessions, [](const SessionPtr& session) { return !session->is_misplaced(); });
  place_anew(sessions);
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
  const Store& store = *of.shared.store;
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
  for (const auto& store : stores_) {
    store->rooms().free();
  }
  if (loaded_) {
    loaded_->tidy([this](const Session& session) { return is_submount(session.place().in()); });
  }
}

/// The caller holds mutex_.
void Catalog::forget_left_out(const LogFolder& folder) {
  const auto is_in = [&folder](const LogPlace& place) { return place.in() == folder; };
  const LogPlace first{folder.name, "", folder.store};
  auto& left_out = known_->left_out;
  for (auto at = left_out.lower_bound(first); at != left_out.end() && is_in(at->first);) {
    at = left_out.erase(at);
  }
  auto& linked = known_->linked;
  for (auto at = linked.lower_bound(first); at != linked.end() && is_in(*at);) {
    at = linked.erase(at);
  }
}

/// A folder whose logs cannot be listed. Its known sessions stay.
void Catalog::leave_out(const LogFolder& folder, const Error& error) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    std::string& reason = known_->left_out[LogPlace{folder.name, "", folder.store}];
    is_new = reason != error.message;
    reason = error.message;
  }
  if (is_new) {
    note_error("folder " + folder.name + ": " + error.message);
  }
}

/// Folders that a scan of all did not find any more, or of `only` this store. Submounts are scanned on their own.
void Catalog::forget_other_folders(const std::set<LogFolder>& folders, std::optional<std::uint8_t> only) {
  const std::lock_guard lock(mutex_);
  const auto& submounts = known_->submounts;
  const auto is_other = [&](const LogPlace& place) {
    const bool is_scanned_here =
        only ? place.store == *only : !submounts.contains({place.store, std::string(kWholeStore)});
    return is_scanned_here && !folders.contains(place.in()) && !submounts.contains(place.in());
  };
  std::erase_if(known_->left_out, [&](const auto& row) { return is_other(row.first); });
  std::erase_if(known_->linked, is_other);
}

/// A file with several names is one session: under a name to which no link leads if it has one, else under the first in
/// the order of places. A known session gives way to a better name: it moves there.
void Catalog::leave_out_second_names(Placing& placing) {
  if (placing.appeared.empty()) {
    return;
  }
  std::map<FileOfStore, SessionPtr> known;
  for (const auto& session : all_sessions()) {
    if (std::find(placing.missing.begin(), placing.missing.end(), session) == placing.missing.end()) {
      known.emplace(file_of(session->store_number(), session->stat()), session);
    }
  }
  placing.appeared.sort([](const auto& a, const auto& b) { return a.is_linked < b.is_linked; });  // keeps their order
  std::set<FileOfStore> appeared;
  for (auto log = placing.appeared.begin(); log != placing.appeared.end();) {
    const FileOfStore file = file_of(log->place.store, log->stat);
    bool is_second = log->stat.ino != 0 && !appeared.insert(file).second;
    const auto first = known.find(file);
    if (!is_second && log->stat.ino != 0 && first != known.end() && is_still(*first->second, log->stat)) {
      is_second = !gives_way(*first->second, *log);
      if (!is_second) {
        give_way(first->second, placing);
      }
    }
    if (is_second) {
      const std::lock_guard lock(mutex_);
      known_->left_out.emplace(log->place, kSecondName);
      log = placing.appeared.erase(log);
    } else {
      ++log;
    }
  }
}

/// Lets settle() move the session to its better name.
void Catalog::give_way(const SessionPtr& session, Placing& placing) {
  placing.missing.push_back(session);
  const std::lock_guard lock(mutex_);
  known_->left_out.emplace(session->place(), kSecondName);
}

/// True if the session's own name leads to this file now.
bool Catalog::is_still(const Session& session, const FileStat& file) const {
  const auto now = session.store().stat(session.place());
  return now && now->same_file(file);
}

bool Catalog::gives_way(const Session& session, const FoundLog& better) const {
  const LogPlace place = session.place();
  const std::lock_guard lock(mutex_);
  const bool is_linked = known_->linked.contains(place);
  return std::tie(better.is_linked, better.place) < std::tie(is_linked, place);
}

void Catalog::look_at_links() {
  std::vector<LogPlace> linked;
  {
    const std::lock_guard lock(mutex_);
    linked.assign(known_->linked.begin(), known_->linked.end());
  }
  for (const LogPlace& place : linked) {
    const SessionPtr session = is_submount(place.in()) ? nullptr : at(place);
    const auto now = session ? session->store().stat(place) : Result<FileStat>(FileStat());
    if (session && (!now || session->looks_changed(*now))) {
      touch(place);
    }
  }
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

void Catalog::rebuild_view() {
  const std::lock_guard naming(naming_mutex_);
  std::vector<MovedSession> moved;
  auto made = make_catalog_view(
      all_sessions(), home_, words_ == Words::not_read ? nullptr : names_,
      [this](const std::string& cwd) { return project_number(cwd); }, moved);
  const CatalogViewPtr before = view();
  {
    const std::lock_guard lock(mutex_);
    made->version = ++known_->version;
    view_ = std::move(made);
  }
  for (const auto& one : moved) {
    publish_move(*before, one);
  }
}

std::vector<NamedSession> Catalog::terminals(const Hanging& hanging) const {
  std::vector<NamedSession> named;
  std::unordered_set<std::string> taken;
  for (const auto& crumb : stores_.breadcrumbs(hanging.stores())) {
    if (const auto session = at(crumb.place)) {
      named.push_back({unique_name(encoded_name(crumb.terminal), taken), session});
    }
  }
  return named;
}

std::vector<LeftOut> Catalog::left_out() const {
  std::map<LogPlace, std::string> found;
  {
    const std::lock_guard lock(mutex_);
    found = known_->left_out;
  }
  std::vector<LeftOut> all;
  for (auto& [place, reason] : found) {
    const Store& store = *stores_.at(place.store);
    const bool is_folder = place.file.empty();
    all.push_back({place.store, is_folder ? folder_path(store.paths().sessions, place.folder) : store.path_of(place),
                   std::move(reason)});
  }
  return all;
}

std::vector<LogFolder> Catalog::submounts() const {
  const std::lock_guard lock(mutex_);
  return {known_->submounts.begin(), known_->submounts.end()};
}

std::optional<LogFolder> Catalog::submount_of(const LogFolder& folder) const {
  if (!has_submounts_) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  for (const LogFolder& submount : {whole(folder.store), folder}) {
    if (known_->submounts.contains(submount)) {
      return submount;
    }
  }
  return std::nullopt;
}

void Catalog::find_submounts() {
  std::set<LogFolder> found;
  const auto served = mounts_served_elsewhere();
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    const StorePaths& paths = stores_.at(number)->paths();
    if (leads_into(served, paths.agent_dir) || leads_into(served, paths.sessions)) {
      found.insert(whole(number));
      continue;
    }
    for (const std::string& name : mounts_below(paths.sessions)) {
      found.insert({static_cast<std::uint8_t>(number), name});
    }
  }
  const std::lock_guard lock(mutex_);
  known_->submounts = std::move(found);
  has_submounts_ = !known_->submounts.empty();
}

/// The mutex that a rescan of this folder holds.
std::mutex& Catalog::turn_of(const LogFolder& folder) {
  const auto submount = submount_of(folder);
  if (!submount) {
    return rescan_mutex_;
  }
  const std::lock_guard lock(mutex_);
  auto& turn = known_->submount_turns[*submount];
  if (!turn) {
    turn = std::make_unique<std::mutex>();
  }
  return *turn;
}

void Catalog::rescan_submount(const LogFolder& submount) {
  if (submount.name == kWholeStore) {
    rescan_store(submount.store);
  } else {
    rescan_in_turn(turn_of(submount), {submount});
  }
  auto sessions = all_sessions();
  std::erase_if(sessions, [&](const SessionPtr& session) { return submount_of(session->place().in()) != submount; });
  for (const auto& session : sessions) {
    session->reload_leaf();
  }
  reload_notes(sessions);
}

void Catalog::rescan_store(std::uint8_t store) {
  const std::lock_guard scanning(turn_of(whole(store)));
  auto known = all_sessions();
  std::erase_if(known, [store](const SessionPtr& session) { return session->store_number() != store; });
  rescan_all(known, store);
  look_for_blobs_of(*states_[store]);
}

std::set<std::uint8_t> Hanging::stores() const {
  std::set<std::uint8_t> numbers;
  for (const auto& [submount, sentence] : submounts) {
    if (submount.name == kWholeStore) {
      numbers.insert(submount.store);
    }
  }
  return numbers;
}

Hanging Catalog::hanging() const {
  const auto all = submounts();
  std::set<std::string> folders;
  for (const LogFolder& submount : all) {
    const auto needed = stores_.needed_by(submount);
    folders.insert(needed.begin(), needed.end());
  }
  const auto silent = pulse_.silent(folders);
  Hanging found;
  for (const LogFolder& submount : all) {
    const Store& store = *stores_.at(submount.store);
    const auto needed = stores_.needed_by(submount);
    const auto hangs =
        std::find_if(needed.begin(), needed.end(), [&](const auto& path) { return silent.contains(path); });
    if (hangs != needed.end()) {
      found.submounts[submount] = "the store of " + std::string(store.format().agent) + " at " +
                                  store.paths().agent_dir + " does not answer: the file system of " + *hangs + " hangs";
    }
  }
  return found;
}

bool Catalog::is_in(const Session& session, const Hanging& hanging) const {
  if (hanging.submounts.empty()) {
    return false;
  }
  const auto submount = submount_of(session.place().in());
  return submount && hanging.submounts.contains(*submount);
}

}  // namespace arborfs
