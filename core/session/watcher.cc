#include "core/session/watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/base/unique_fd.h"
#include "core/session/catalog.h"

namespace arborfs {

using Clock = std::chrono::steady_clock;

/// The kernel reports a move by two events, one after the other. The program that moves the log may lose its processor
/// between them, on a busy machine for several time slices.
constexpr auto kOtherHalf = std::chrono::milliseconds(30);

/// The inotify watches on the folders of the stores of a catalog, and the work that their events require. Used by one
/// thread, except for how().
class StoreWatches {
 public:
  /// The work that some events require.
  struct News {
    std::set<LogPlace> touched;
    std::set<LogFolder> changed_folders;
    bool everything = false;     // all stores are to be scanned, and their folders watched anew
    bool leaves_moved = false;   // the folder of moved leaves changed
    bool notes_changed = false;  // that of notes did
    bool way_to_own = false;     // a folder on the way to one of them appeared
    bool terminals = false;      // an agent's breadcrumb changed
  };

  /// Watches nothing yet. If `uses_inotify` is false, or the kernel's limit on inotify is reached, it never does.
  /// `catalog` outlives it.
  StoreWatches(Catalog& catalog, bool uses_inotify) : catalog_(catalog) {
    if (uses_inotify) {
      notify_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
      set_how(notify_ ? "inotify" : "polling: the limit fs.inotify.max_user_instances is reached");
    } else {
      set_how("polling: the mount option noinotify is set");
    }
  }

  /// The descriptor to poll for events; -1 without inotify.
  [[nodiscard]] int fd() const { return notify_.get(); }
  /// True if each folder of logs that a store names is watched and inotify reports its changes.
  [[nodiscard]] bool is_complete() const { return notify_ && !partly_; }
  /// True if stores name more or fewer folders than at the last renew().
  [[nodiscard]] bool is_outdated() const { return dirs_of_logs().size() != watched_dirs_; }
  /// "inotify", or "polling: <why>". Thread-safe.
  [[nodiscard]] std::string how() const {
    const std::lock_guard lock(mutex_);
    return how_;
  }

  /// In each store, one watch on the sessions folder, one on each directory of logs, one on the breadcrumbs. For all
  /// stores, one on the moved leaves and one on the notes.
  void renew() {
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
    watch_own();
    const auto present = dirs_of_logs();
    watched_dirs_ = present.size();
    for (const auto& [number, dir] : present) {
      const LogFolder folder{number, dir.folder};
      if (!catalog_.is_submount(folder)) {  // adding a watch might also block
        add(dir.path, {dir.leads_to_logs ? What::way_to_logs : What::folder, folder});
      }
    }
  }

  /// Watches the folders of moved leaves and of notes; until one exists, the last existing folder on the way to it.
  void watch_own() {
    if (notify_) {
      watch_own(leaves_folder(), What::leaves);
      watch_own(catalog_.notes().folder(), What::notes);
    }
  }

  /// The folder of moved leaves of all stores.
  [[nodiscard]] const std::string& leaves_folder() const { return catalog_.state(0).leaves.folder(); }

  /// Reads the events that have arrived. A move is reported by two events: waits a moment for a missing second one.
  News take() {
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

 private:
  enum class What : std::uint8_t { root, way_to_logs, folder, terminals, leaves, notes, way_to_own };
  /// The purpose of a watch.
  struct Watched {
    What what = What::root;
    LogFolder folder;  // of a folder; of a root only its store
    auto operator<=>(const Watched&) const = default;
  };
  /// The events that were read, and the cookies of moves that have left one place and not yet reached another.
  struct Reading {
    News news;
    std::set<std::uint32_t> half_moves;
  };

  static std::uint32_t events_of(What what) {
    switch (what) {
      case What::root:
      case What::way_to_logs:
        return IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
      case What::folder:
      case What::terminals:
        return IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB;
      case What::leaves:
        return IN_MOVED_TO | IN_DELETE;
      case What::notes:
        return IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE;  // a user may edit them
      case What::way_to_own:
        return IN_CREATE | IN_MOVED_TO;
    }
    return 0;
  }

  /// The directories of logs, by the number of their store. A store that is a submount is polled: adding a watch might
  /// block, too.
  [[nodiscard]] std::vector<std::pair<std::uint8_t, WatchedDir>> dirs_of_logs() const {
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

  void watch_own(const std::filesystem::path& folder, What what) {
    namespace fs = std::filesystem;
    constexpr int kTries = 4;  // if the folder is made meanwhile
    for (int i = 0; i < kTries && folder.is_absolute() && !add(folder, {what, {}}); ++i) {
      fs::path missing = folder;
      while (missing != missing.root_path() && !add(missing.parent_path(), {What::way_to_own, {}})) {
        missing = missing.parent_path();
      }
      std::error_code failed;
      if (!fs::exists(missing, failed)) {
        return;
      }
    }
  }

  /// A linked folder is watched through its descriptor, which has been opened without entering a mount of arborfs.
  bool add(const std::string& path, const Watched& meaning) {
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

  void set_how(std::string text) {
    const std::lock_guard lock(mutex_);
    how_ = std::move(text);
  }

  void read(Reading& reading) {
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

  void sort(const inotify_event& event, Reading& reading) {
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

  void sort_as(const Watched& meaning, const inotify_event& event, Reading& reading) const {
    News& news = reading.news;
    const Store& store = *catalog_.stores().at(meaning.folder.store);
    switch (meaning.what) {
      case What::terminals:
        news.terminals = true;
        return;
      case What::leaves:
        news.leaves_moved = true;
        return;
      case What::notes:
        news.notes_changed = true;
        return;
      case What::way_to_own:
        news.way_to_own = true;
        return;
      case What::root:
        news.everything = news.everything || event.len == 0 || store.may_have_logs(event.name);
        return;
      case What::way_to_logs:
        news.everything = true;
        return;
      case What::folder:
        sort_in(store, meaning.folder, event, reading);
    }
  }

  static void sort_in(const Store& store, const LogFolder& folder, const inotify_event& event, Reading& reading) {
    if ((event.mask & IN_MOVED_TO) != 0) {
      reading.half_moves.erase(event.cookie);  // of a log that gets another kind of name as well
    }
    auto log = store.log_of(folder.name, event.len > 0 ? event.name : "");
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

  Catalog& catalog_;
  UniqueFd notify_;
  std::map<int, std::set<Watched>> meanings_;  // by watch: a sessions folder may hold logs itself
  std::size_t watched_dirs_ = 0;
  bool partly_ = false;  // some folder could not be watched
  mutable std::mutex mutex_;
  std::string how_;  // guarded by mutex_
};

/// Scans the submounts of the stores (Catalog::submounts), each on its own thread: one that hangs delays only requests
/// for files in it. Thread-safe.
class SubmountScanner {
 public:
  /// `catalog` outlives it.
  explicit SubmountScanner(Catalog& catalog) : catalog_(catalog) {}
  /// Waits for scans in progress.
  ~SubmountScanner() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (auto& [name, folder] : folders_) {
      folder.thread.join();
    }
  }
  SubmountScanner(const SubmountScanner&) = delete;
  SubmountScanner& operator=(const SubmountScanner&) = delete;

  /// Requests a scan of each and returns at once. One whose scan is still in progress is skipped.
  void ask_for(const std::vector<LogFolder>& submounts) {
    constexpr std::size_t kMost = 16;  // threads; further submounts are not scanned
    const std::lock_guard lock(mutex_);
    for (const auto& place : submounts) {
      if (!folders_.contains(place) && (folders_.size() == kMost || !start(place))) {
        continue;
      }
      Folder& folder = folders_[place];
      folder.is_wanted = folder.is_wanted || !folder.is_at_work;
    }
    changed_.notify_all();
  }

  /// Waits until all requested scans are done, at most for `longest`.
  void wait(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest, [this] {
      return std::none_of(folders_.begin(), folders_.end(),
                          [](const auto& row) { return row.second.is_wanted || row.second.is_at_work; });
    });
  }

 private:
  struct Folder {
    bool is_wanted = false;
    bool is_at_work = false;
    std::thread thread;
  };

  bool start(const LogFolder& place) {
    Folder& folder = folders_[place];
    try {
      folder.thread = std::thread([this, place, &folder] { run(place, folder); });
      return true;
    } catch (const std::exception&) {
      log_exception("cannot start to poll a folder that is a mount");
      folders_.erase(place);
      return false;
    }
  }

  void run(const LogFolder& place, Folder& folder) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || folder.is_wanted; });
      if (stopping_) {
        return;
      }
      folder.is_wanted = false;
      folder.is_at_work = true;
      lock.unlock();
      try {
        catalog_.rescan_submount(place);
      } catch (const std::exception&) {
        log_exception("cannot poll a folder that is a mount");
      }
      lock.lock();
      folder.is_at_work = false;
      changed_.notify_all();
    }
  }

  Catalog& catalog_;
  std::mutex mutex_;  // leaf; guards everything below, but for the threads
  std::condition_variable changed_;
  std::map<LogFolder, Folder> folders_;
  bool stopping_ = false;
};

/// How often everything is checked: where inotify is silent or absent, and where it works (for events that it missed).
constexpr auto kPollEvery = std::chrono::milliseconds(450);
constexpr auto kCheckEvery = std::chrono::seconds(5);
/// How late a change shows in a store of a format whose changes_show_late.
constexpr auto kChangeShows = std::chrono::milliseconds(20);
/// A program may write again and again: events are read at once, but not more often than this.
constexpr auto kBetweenNews = std::chrono::milliseconds(1);
/// After its own write this process reads the log at once, and with it earlier writes of other programs. Events of a
/// log that it wrote so recently are mostly its own; they wait this long.
constexpr auto kOwnWrite = std::chrono::milliseconds(10);
constexpr auto kFirstSubmountScan = std::chrono::seconds(1);    // at the start; slower submounts appear later
constexpr auto kShortOfMemory = std::chrono::milliseconds(50);  // until the next try

struct Watcher::Impl {
  Impl(Catalog& owner, Mode mode)
      : catalog(owner), watches(owner, mode == Mode::inotify), stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    catalog.find_submounts();
    submount_scanner.ask_for(catalog.submounts());
    watches.renew();
    look_at_own();
    look_at_everything();
    submount_scanner.wait(kFirstSubmountScan);
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    ::eventfd_write(stop.get(), 1);
    thread.join();
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
    if (!look_again.empty() && Clock::now() >= look_again_at) {
      catalog.rescan_folders(std::exchange(look_again, {}));
    }
    auto next = put_off.empty() ? next_poll : std::min(next_poll, put_off_until);
    next = look_again.empty() ? next : std::min(next, look_again_at);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    std::array<pollfd, 3> fds{{{stop.get(), POLLIN, 0}, {watches.fd(), POLLIN, 0}, {mounts.get(), POLLPRI, 0}}};
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

  void look_for_mounts() {
    const auto before = catalog.submounts();
    catalog.find_submounts();
    if (catalog.submounts() != before) {
      watches.renew();
      next_poll = next_check = {};
    }
  }

  void look_at_everything() {
    next_check = Clock::now() + kCheckEvery;
    catalog.find_submounts();
    catalog.rescan();
  }

  void take_events() {
    StoreWatches::News news = watches.take();
    // An unknown log may have moved here from another folder: scan both folders together.
    std::erase_if(news.touched, [&](const LogPlace& place) {
      return catalog.at(place) == nullptr && (news.changed_folders.insert(place.in()), true);
    });
    if (news.leaves_moved || news.everything || !news.changed_folders.empty() || !news.touched.empty()) {
      last_news = Clock::now();  // not for lock files, whose events come before those of the log
    }
    if (news.terminals) {
      catalog.publish_catalog_changed();
    }
    if (news.way_to_own) {
      watches.watch_own();
      look_at_own();
    }
    if (news.leaves_moved) {
      catalog.leaves_changed();
    }
    if (news.notes_changed) {
      catalog.notes_changed();
    }
    std::erase_if(news.changed_folders, [&](const LogFolder& folder) { return catalog.is_submount(folder); });
    if (news.everything) {
      catalog.find_submounts();
      watches.renew();
      catalog.rescan();
    } else if (!news.changed_folders.empty()) {
      catalog.rescan_folders(news.changed_folders);
      look_again_at = Clock::now() + kChangeShows;
      std::copy_if(news.changed_folders.begin(), news.changed_folders.end(),
                   std::inserter(look_again, look_again.end()),
                   [&](const LogFolder& in) { return catalog.stores().at(in.store)->format().changes_show_late; });
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

  /// Checks everything by stat where inotify does not work, else only torn ends that have become old
  /// (CONTRACT.md 3.2, 3.3).
  void poll_store() {
    submount_scanner.ask_for(catalog.submounts());
    const bool unwatched = watches.is_outdated();
    if (unwatched) {
      watches.renew();
    }
    look_at_own();
    if (!watches.is_complete() || unwatched || Clock::now() >= next_check) {
      look_at_everything();
    } else {
      catalog.age_tails();
      catalog.look_at_links();
    }
  }

  /// The folders of moved leaves and of notes.
  void look_at_own() {
    if (has_changed(watches.leaves_folder(), leaves_seen)) {
      catalog.leaves_changed();
    }
    if (has_changed(catalog.notes().folder(), notes_seen)) {
      catalog.notes_changed();
    }
  }

  /// The folder may be made at any time; its mtime, which was `seen` last, changes with everything that is kept in it.
  bool has_changed(const std::string& path, std::int64_t& seen) {
    const auto folder = Dir::open_root(path);
    const auto st = folder ? folder->stat() : Result<FileStat>(folder.error());
    if (!st || st->mtime_ns == seen) {
      return false;
    }
    seen = st->mtime_ns;
    watches.watch_own();
    return true;
  }

  Catalog& catalog;
  StoreWatches watches;
  UniqueFd stop;
  std::int64_t leaves_seen = 0;  // mtime of their folder
  std::int64_t notes_seen = 0;
  Clock::time_point next_poll;
  Clock::time_point next_check;
  Clock::time_point last_news;
  std::set<LogPlace> put_off;       // logs to check later
  Clock::time_point put_off_until;  // valid if put_off is not empty
  std::set<LogFolder> look_again;   // folders to scan once more, of stores whose changes show late
  Clock::time_point look_again_at;  // valid if look_again is not empty
  UniqueFd mounts = list_of_mounts();
  SubmountScanner submount_scanner{catalog};
  std::thread thread;
};

Watcher::Watcher(Catalog& catalog, Mode mode) : impl_(std::make_unique<Impl>(catalog, mode)) {}
Watcher::~Watcher() = default;

std::string Watcher::how() const {
  return impl_->watches.how();
}

}  // namespace arborfs
