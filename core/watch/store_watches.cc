#include "core/watch/store_watches.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

namespace arborfs {

namespace {

using Clock = std::chrono::steady_clock;

/// The kernel reports a move by two events, one after the other. The program that moves the log may lose its processor
/// between them, on a busy machine for several time slices.
constexpr auto kOtherHalf = std::chrono::milliseconds(30);

constexpr std::uint32_t kFolderEvents =
    IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB;
constexpr std::uint32_t kRootEvents =
    IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kLeafEvents = IN_MOVED_TO | IN_DELETE;
constexpr std::uint32_t kWayEvents = IN_CREATE | IN_MOVED_TO;

}  // namespace

StoreWatches::StoreWatches(Catalog& catalog, bool uses_inotify) : catalog_(catalog) {
  if (uses_inotify) {
    notify_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    set_how(notify_ ? "inotify" : "polling: the limit fs.inotify.max_user_instances is reached");
  } else {
    set_how("polling: the mount option noinotify is set");
  }
}

bool StoreWatches::is_complete() const {
  return notify_ && !partly_;
}

bool StoreWatches::is_outdated() const {
  return dirs_of_logs().size() != watched_dirs_;
}

std::string StoreWatches::how() const {
  const std::lock_guard lock(mutex_);
  return how_;
}

void StoreWatches::set_how(std::string text) {
  const std::lock_guard lock(mutex_);
  how_ = std::move(text);
}

const std::string& StoreWatches::leaves_folder() const {
  return catalog_.state(0).leaves.folder();
}

/// The directories of logs, by the number of their store. A store that is a submount is polled: adding a watch might
/// block, too.
std::vector<std::pair<std::uint8_t, WatchedDir>> StoreWatches::dirs_of_logs() const {
  std::vector<std::pair<std::uint8_t, WatchedDir>> all;
  for (std::size_t number = 0; number < catalog_.stores().size(); ++number) {
    if (catalog_.is_submount(number)) {
      continue;
    }
    for (WatchedDir& dir : catalog_.stores().at(number)->watched()) {
      all.emplace_back(static_cast<std::uint8_t>(number), std::move(dir));
    }
  }
  return all;
}

void StoreWatches::renew() {
  if (!notify_) {
    return;
  }
  for (std::size_t number = 0; number < catalog_.stores().size(); ++number) {
    if (catalog_.is_submount(number)) {
      continue;
    }
    const StorePaths& paths = catalog_.stores().at(number)->paths();
    add(paths.sessions, {What::root, {static_cast<std::uint8_t>(number), ""}});
    add(paths.terminals, {What::terminals, {}});
  }
  watch_leaves();
  const auto present = dirs_of_logs();
  watched_dirs_ = present.size();
  for (const auto& [number, dir] : present) {
    const LogFolder folder{number, dir.folder};
    if (!catalog_.is_submount(folder)) {  // adding a watch might also block
      add(dir.path, {dir.leads_to_logs ? What::way_to_logs : What::folder, folder});
    }
  }
}

void StoreWatches::watch_leaves() {
  namespace fs = std::filesystem;
  constexpr int kTries = 4;  // if the folder is made meanwhile
  const fs::path leaves = leaves_folder();
  if (!notify_) {
    return;
  }
  for (int i = 0; i < kTries && leaves.is_absolute() && !add(leaves, {What::leaves, {}}); ++i) {
    fs::path missing = leaves;
    while (missing != missing.root_path() && !add(missing.parent_path(), {What::way_to_leaves, {}})) {
      missing = missing.parent_path();
    }
    std::error_code failed;
    if (!fs::exists(missing, failed)) {
      return;
    }
  }
}

std::uint32_t StoreWatches::events_of(What what) {
  switch (what) {
    case What::root:
    case What::way_to_logs:
      return kRootEvents;
    case What::folder:
    case What::terminals:
      return kFolderEvents;
    case What::leaves:
      return kLeafEvents;
    case What::way_to_leaves:
      return kWayEvents;
  }
  return 0;
}

/// A linked folder is watched through its descriptor, which has been opened without entering a mount of arborfs.
bool StoreWatches::add(const std::string& path, const Watched& meaning) {
  constexpr std::uint32_t kHow = IN_ONLYDIR | IN_MASK_ADD;
  int watch = ::inotify_add_watch(notify_.get(), path.c_str(), events_of(meaning.what) | kHow | IN_DONT_FOLLOW);
  if (watch < 0 && errno == ENOTDIR) {
    const std::filesystem::path place = path;
    const auto dir = Dir::follow_below_root(place.parent_path().string(), place.filename().string());
    const std::string linked = dir ? "/proc/self/fd/" + std::to_string(dir->fd()) : "";
    watch = dir ? ::inotify_add_watch(notify_.get(), linked.c_str(), events_of(meaning.what) | kHow) : -1;
  }
  if (watch >= 0) {
    meanings_[watch].insert(meaning);
  } else if (errno == ENOSPC) {
    partly_ = true;
    set_how("polling in part: the limit fs.inotify.max_user_watches is reached");
  }
  return watch >= 0;
}

StoreWatches::News StoreWatches::take() {
  Reading reading;
  read(reading);
  for (const auto until = Clock::now() + kOtherHalf; !reading.half_moves.empty() && !reading.news.everything;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd more{notify_.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&more, 1, static_cast<int>(left)) <= 0) {
      break;
    }
    read(reading);
  }
  return std::move(reading.news);
}

void StoreWatches::read(Reading& reading) {
  alignas(inotify_event) std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t got = ::read(notify_.get(), buffer.data(), buffer.size());
    if (got <= 0) {
      return;
    }
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      sort(*event, reading);
    }
  }
}

void StoreWatches::sort(const inotify_event& event, Reading& reading) {
  const auto found = meanings_.find(event.wd);
  if ((event.mask & IN_Q_OVERFLOW) != 0 || found == meanings_.end()) {
    reading.news.everything = true;
    return;
  }
  if ((event.mask & IN_IGNORED) != 0) {
    meanings_.erase(found);
    reading.news.everything = true;
    return;
  }
  for (const Watched& meaning : found->second) {
    if ((event.mask & events_of(meaning.what)) != 0) {
      sort_as(meaning, event, reading);
    }
  }
}

void StoreWatches::sort_as(const Watched& meaning, const inotify_event& event, Reading& reading) const {
  News& news = reading.news;
  switch (meaning.what) {
    case What::terminals:
      news.terminals = true;
      return;
    case What::leaves:
      news.leaves_moved = true;
      return;
    case What::way_to_leaves:
      news.way_to_leaves = true;
      return;
    case What::root:
      news.everything = news.everything || event.len == 0 || store_of(meaning).may_have_logs(event.name);
      return;
    case What::way_to_logs:
      news.everything = true;
      return;
    case What::folder:
      sort_in(meaning.folder, event, reading);
  }
}

const SessionStore& StoreWatches::store_of(const Watched& watched) const {
  return *catalog_.stores().at(watched.folder.store);
}

void StoreWatches::sort_in(const LogFolder& folder, const inotify_event& event, Reading& reading) const {
  if ((event.mask & IN_MOVED_TO) != 0) {
    reading.half_moves.erase(event.cookie);  // of a log that gets another kind of name as well
  }
  const std::string name = event.len > 0 ? event.name : "";
  auto log = catalog_.stores().at(folder.store)->log_of(folder.name, name);
  if (!log) {
    return;
  }
  log->store = folder.store;
  if ((event.mask & IN_MOVED_FROM) != 0) {
    reading.half_moves.insert(event.cookie);
  }
  if ((event.mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_TO)) != 0) {
    reading.news.touched.insert(*std::move(log));
  } else {
    reading.news.changed_folders.insert(folder);
  }
}

}  // namespace arborfs
