#include "core/session/watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/base/exception_log.h"
#include "core/base/thread_slice.h"
#include "core/base/unique_fd.h"
#include "core/session/submount_scanner.h"

namespace arborfs {

namespace {

using Clock = std::chrono::steady_clock;

/// How often everything is checked: where inotify is silent or absent, and where it works (for events that it missed).
constexpr auto kPollEvery = std::chrono::milliseconds(450);
constexpr auto kCheckEvery = std::chrono::seconds(5);
/// A program may write again and again: events are read at once, but not more often than this.
constexpr auto kBetweenNews = std::chrono::milliseconds(1);
/// After its own write this process reads the log at once, and with it earlier writes of other programs. Events of a
/// log that it wrote so recently are mostly its own; they wait this long.
constexpr auto kOwnWrite = std::chrono::milliseconds(10);
/// The kernel reports a move by two events, one after the other.
constexpr auto kOtherHalf = std::chrono::milliseconds(2);
constexpr auto kFirstSubmountScan = std::chrono::seconds(1);    // at the start; slower submounts appear later
constexpr auto kShortOfMemory = std::chrono::milliseconds(50);  // until the next try
constexpr std::uint32_t kFolderEvents =
    IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB;
constexpr std::uint32_t kRootEvents =
    IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;

constexpr std::uint32_t kLeafEvents = IN_MOVED_TO | IN_DELETE;

}  // namespace

struct Watcher::Impl {
  enum class What : std::uint8_t { root, way_to_logs, folder, terminals, leaves, way_to_leaves };
  /// What a watch is for.
  struct Watched {
    What what = What::root;
    LogFolder folder;  // of a folder; of a root only its store
  };

  Impl(Catalog& owner, Mode mode) : catalog(owner), stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (mode == Mode::inotify) {
      notify = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
      set_how(notify ? "inotify" : "polling: the limit fs.inotify.max_user_instances is reached");
    } else {
      set_how("polling: the mount option noinotify is set");
    }
    catalog.find_submounts();
    submount_scanner.ask_for(catalog.submounts());
    renew_watches();
    look_at_leaves();
    look_at_everything();
    submount_scanner.wait(kFirstSubmountScan);
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    ::eventfd_write(stop.get(), 1);
    thread.join();
  }

  void set_how(std::string text) {
    const std::lock_guard lock(mutex);
    how = std::move(text);
  }

  /// Signals changes of the mount table: a file system may be mounted on a folder at any time.
  static UniqueFd list_of_mounts() { return UniqueFd(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)); }

  void run() {
    request_short_thread_slice();
    next_poll = Clock::now() + kPollEvery;
    for (bool goes_on = true; goes_on;) {
      try {
        goes_on = take_turn();
      } catch (const std::exception&) {
        log_exception("cannot follow changes of the store");
        next_check = {};  // events were lost: everything is checked
        goes_on = !is_stopped_until(Clock::now() + kShortOfMemory);
      }
    }
  }

  /// False if the watcher is being stopped.
  bool take_turn() {
    if (Clock::now() >= next_poll) {
      poll_store();
      catalog.look_for_blobs();
      catalog.tidy();
      next_poll = Clock::now() + kPollEvery;
    }
    if (!put_off.empty() && Clock::now() >= put_off_until) {
      touch_all(std::exchange(put_off, {}));
    }
    const auto next = put_off.empty() ? next_poll : std::min(next_poll, put_off_until);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    std::array<pollfd, 3> fds{{{stop.get(), POLLIN, 0}, {notify.get(), POLLIN, 0}, {mounts.get(), POLLPRI, 0}}};
    ::poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(0, wait.count())));
    if ((fds[0].revents & POLLIN) != 0) {
      return false;
    }
    if ((fds[2].revents & POLLPRI) != 0) {
      look_for_mounts();
    }
    if ((fds[1].revents & POLLIN) != 0) {
      if (is_stopped_until(last_news + kBetweenNews)) {
        return false;
      }
      take_events();
    }
    return true;
  }

  [[nodiscard]] bool is_stopped_until(Clock::time_point when) const {
    const auto left = std::chrono::nanoseconds(when - Clock::now()).count();
    const timespec wait{0, left};  // under a second
    pollfd stopping{stop.get(), POLLIN, 0};
    return left > 0 && ::ppoll(&stopping, 1, &wait, nullptr) > 0;
  }

  /// The directories of logs, by the number of their store.
  [[nodiscard]] std::vector<std::pair<std::uint8_t, WatchedDir>> dirs_of_logs() const {
    std::vector<std::pair<std::uint8_t, WatchedDir>> all;
    for (std::size_t number = 0; number < catalog.stores().size(); ++number) {
      for (WatchedDir& dir : catalog.stores().at(number)->watched()) {
        all.emplace_back(static_cast<std::uint8_t>(number), std::move(dir));
      }
    }
    return all;
  }

  /// In each store, one watch on the sessions folder, one on each directory of logs, one on the breadcrumbs. One on the
  /// moved leaves of all stores.
  void renew_watches() {
    if (!notify) {
      return;
    }
    for (std::size_t number = 0; number < catalog.stores().size(); ++number) {
      const StorePaths& paths = catalog.stores().at(number)->paths();
      add_watch(paths.sessions, {What::root, {static_cast<std::uint8_t>(number), ""}}, kRootEvents);
      add_watch(paths.terminals, {What::terminals, {}}, kFolderEvents);
    }
    watch_leaves();
    const auto present = dirs_of_logs();
    watched_dirs = present.size();
    for (const auto& [number, dir] : present) {
      const LogFolder folder{number, dir.folder};
      if (!catalog.is_submount(folder)) {  // adding a watch might also block
        const What what = dir.leads_to_logs ? What::way_to_logs : What::folder;
        add_watch(dir.path, {what, folder}, dir.leads_to_logs ? kRootEvents : kFolderEvents);
      }
    }
  }

  /// Of all stores; the state of each is in the same folder.
  [[nodiscard]] const std::string& leaves_folder() const { return catalog.state(0).leaves.folder(); }

  void look_for_mounts() {
    const auto before = catalog.submounts();
    catalog.find_submounts();
    if (catalog.submounts() != before) {
      renew_watches();
      next_poll = next_check = {};
    }
  }

  void look_at_everything() {
    next_check = Clock::now() + kCheckEvery;
    catalog.find_submounts();
    catalog.rescan();
  }

  /// Watches the folder of moved leaves; until it exists, the last existing folder on the way to it.
  void watch_leaves() {
    namespace fs = std::filesystem;
    constexpr int kTries = 4;  // if the folder is made meanwhile
    const fs::path leaves = leaves_folder();
    for (int i = 0; i < kTries && leaves.is_absolute() && !add_watch(leaves, {What::leaves, {}}, kLeafEvents); ++i) {
      fs::path missing = leaves;
      while (missing != missing.root_path() &&
             !add_watch(missing.parent_path(), {What::way_to_leaves, {}}, IN_CREATE | IN_MOVED_TO)) {
        missing = missing.parent_path();
      }
      std::error_code failed;
      if (!fs::exists(missing, failed)) {
        return;
      }
    }
  }

  bool add_watch(const std::string& path, const Watched& meaning, std::uint32_t events) {
    const int watch = ::inotify_add_watch(notify.get(), path.c_str(), events | IN_ONLYDIR | IN_DONT_FOLLOW);
    if (watch >= 0) {
      folders[watch] = meaning;
    } else if (errno == ENOSPC) {
      partly = true;
      set_how("polling in part: the limit fs.inotify.max_user_watches is reached");
    }
    return watch >= 0;
  }

  /// The work that some events ask for.
  struct News {
    std::set<LogPlace> touched;
    std::set<LogFolder> changed_folders;
    std::set<std::uint32_t> half_moves;  // cookies of moves that have left one place and not reached another yet
    bool everything = false;
  };

  void read_events(News& news) {
    alignas(inotify_event) std::array<char, 64 * 1024> buffer;
    for (;;) {
      const ssize_t got = ::read(notify.get(), buffer.data(), buffer.size());
      if (got <= 0) {
        return;
      }
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        sort_event(*event, news);
      }
    }
  }

  void take_events() {
    News news;
    leaves_moved = false;
    read_events(news);
    if (!news.half_moves.empty()) {
      pollfd more{notify.get(), POLLIN, 0};
      ::poll(&more, 1, static_cast<int>(kOtherHalf.count()));
      read_events(news);
    }
    // An unknown log may have moved here from another folder: scan both folders together.
    std::erase_if(news.touched, [&](const LogPlace& place) {
      return catalog.at(place) == nullptr && (news.changed_folders.insert(place.in()), true);
    });
    if (leaves_moved || news.everything || !news.changed_folders.empty() || !news.touched.empty()) {
      last_news = Clock::now();  // not for lock files, whose events come before those of the log
    }
    if (leaves_moved) {
      catalog.leaves_changed();
    }
    std::erase_if(news.changed_folders, [&](const LogFolder& folder) { return catalog.is_submount(folder); });
    if (news.everything) {
      catalog.find_submounts();
      renew_watches();
      catalog.rescan();
    } else if (!news.changed_folders.empty()) {
      catalog.rescan_folders(news.changed_folders);
    }
    touch_or_put_off(std::move(news.touched));
  }

  void touch_or_put_off(std::set<LogPlace> touched) {
    const auto now = Clock::now();
    for (auto place = touched.begin(); place != touched.end();) {
      const auto next = std::next(place);
      const auto session = catalog.at(*place);
      if (session && session->was_written_since(now - kOwnWrite)) {
        if (put_off.empty()) {
          put_off_until = now + kOwnWrite;
        }
        put_off.insert(touched.extract(place));
      }
      place = next;
    }
    touch_all(touched);
  }

  void touch_all(const std::set<LogPlace>& places) {
    for (const auto& place : places) {
      if (!catalog.is_submount(place.in())) {
        catalog.touch(place);
      }
    }
  }

  void sort_event(const inotify_event& event, News& news) {
    const auto found = folders.find(event.wd);
    if ((event.mask & IN_Q_OVERFLOW) != 0 || found == folders.end()) {
      news.everything = true;
      return;
    }
    if ((event.mask & IN_IGNORED) != 0) {
      folders.erase(found);
      news.everything = true;
      return;
    }
    switch (found->second.what) {
      case What::terminals: {
        Change change;
        change.kind = Change::Kind::catalog_changed;
        catalog.feed().publish(std::move(change));
        return;
      }
      case What::leaves:
        leaves_moved = true;
        return;
      case What::way_to_leaves:
        watch_leaves();
        look_at_leaves();
        return;
      case What::root:
        news.everything = news.everything || event.len == 0 || store_of(found->second).may_have_logs(event.name);
        return;
      case What::way_to_logs:
        news.everything = true;
        return;
      case What::folder:
        sort_event_in(found->second.folder, event, news);
    }
  }

  [[nodiscard]] const SessionStore& store_of(const Watched& watched) const {
    return *catalog.stores().at(watched.folder.store);
  }

  void sort_event_in(const LogFolder& folder, const inotify_event& event, News& news) const {
    const std::string name = event.len > 0 ? event.name : "";
    auto log = catalog.stores().at(folder.store)->log_of(folder.name, name);
    if (!log) {
      return;
    }
    log->store = folder.store;
    if ((event.mask & IN_MOVED_FROM) != 0) {
      news.half_moves.insert(event.cookie);
    } else if ((event.mask & IN_MOVED_TO) != 0) {
      news.half_moves.erase(event.cookie);
    }
    if ((event.mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_TO)) != 0) {
      news.touched.insert(*std::move(log));
    } else {
      news.changed_folders.insert(folder);
    }
  }

  /// Checks everything by stat where inotify does not work, else only torn ends that have become old
  /// (CONTRACT.md 3.2, 3.3).
  void poll_store() {
    submount_scanner.ask_for(catalog.submounts());
    const bool unwatched = dirs_of_logs().size() != watched_dirs;
    if (unwatched) {
      renew_watches();
    }
    look_at_leaves();
    if (!notify || partly || unwatched || Clock::now() >= next_check) {
      look_at_everything();
    } else {
      catalog.age_tails();
    }
  }

  /// Their folder may be made at any time; its mtime changes with every leaf that is kept.
  void look_at_leaves() {
    const auto folder = Dir::open_root(leaves_folder());
    const auto st = folder ? folder->stat() : Result<FileStat>(folder.error());
    if (!st || st->mtime_ns == leaves_seen) {
      return;
    }
    leaves_seen = st->mtime_ns;
    if (notify) {
      add_watch(leaves_folder(), {What::leaves, {}}, kLeafEvents);
    }
    catalog.leaves_changed();
  }

  Catalog& catalog;
  UniqueFd stop;
  UniqueFd notify;
  std::map<int, Watched> folders;  // by watch
  bool leaves_moved = false;
  std::int64_t leaves_seen = 0;  // mtime of their folder
  std::size_t watched_dirs = 0;
  bool partly = false;  // some folder could not be watched
  Clock::time_point next_poll;
  Clock::time_point next_check;
  Clock::time_point last_news;
  std::set<LogPlace> put_off;       // logs to check later
  Clock::time_point put_off_until;  // valid if put_off is not empty
  mutable std::mutex mutex;
  std::string how;  // guarded by mutex
  UniqueFd mounts = list_of_mounts();
  SubmountScanner submount_scanner{catalog};
  std::thread thread;
};

Watcher::Watcher(Catalog& catalog, Mode mode) : impl_(std::make_unique<Impl>(catalog, mode)) {}
Watcher::~Watcher() = default;

std::string Watcher::how() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->how;
}

}  // namespace arborfs
