#include "core/watch/watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "core/base/exception_log.h"
#include "core/base/thread_slice.h"
#include "core/base/unique_fd.h"
#include "core/watch/store_watches.h"
#include "core/watch/submount_scanner.h"

namespace arborfs {

namespace {

using Clock = std::chrono::steady_clock;

/// How often everything is checked: where inotify is silent or absent, and where it works (for events that it missed).
constexpr auto kPollEvery = std::chrono::milliseconds(450);
constexpr auto kCheckEvery = std::chrono::seconds(5);
/// How late a change shows in a store whose changes_show_late().
constexpr auto kChangeShows = std::chrono::milliseconds(20);
/// A program may write again and again: events are read at once, but not more often than this.
constexpr auto kBetweenNews = std::chrono::milliseconds(1);
/// After its own write this process reads the log at once, and with it earlier writes of other programs. Events of a
/// log that it wrote so recently are mostly its own; they wait this long.
constexpr auto kOwnWrite = std::chrono::milliseconds(10);
constexpr auto kFirstSubmountScan = std::chrono::seconds(1);    // at the start; slower submounts appear later
constexpr auto kShortOfMemory = std::chrono::milliseconds(50);  // until the next try

}  // namespace

struct Watcher::Impl {
  Impl(Catalog& owner, Mode mode)
      : catalog(owner), watches(owner, mode == Mode::inotify), stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    catalog.find_submounts();
    submount_scanner.ask_for(catalog.submounts());
    watches.renew();
    look_at_leaves();
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
      Change change;
      change.kind = Change::Kind::catalog_changed;
      catalog.feed().publish(std::move(change));
    }
    if (news.way_to_leaves) {
      watches.watch_leaves();
      look_at_leaves();
    }
    if (news.leaves_moved) {
      catalog.leaves_changed();
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
                   [&](const LogFolder& in) { return catalog.stores().at(in.store)->changes_show_late(); });
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
    look_at_leaves();
    if (!watches.is_complete() || unwatched || Clock::now() >= next_check) {
      look_at_everything();
    } else {
      catalog.age_tails();
      catalog.look_at_links();
    }
  }

  /// Their folder may be made at any time; its mtime changes with every leaf that is kept.
  void look_at_leaves() {
    const auto folder = Dir::open_root(watches.leaves_folder());
    const auto st = folder ? folder->stat() : Result<FileStat>(folder.error());
    if (!st || st->mtime_ns == leaves_seen) {
      return;
    }
    leaves_seen = st->mtime_ns;
    watches.watch_leaves();
    catalog.leaves_changed();
  }

  Catalog& catalog;
  StoreWatches watches;
  UniqueFd stop;
  std::int64_t leaves_seen = 0;  // mtime of their folder
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
