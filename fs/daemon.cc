#include "fs/daemon.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/base/unique_fd.h"
#include "core/formats/registry.h"
#include "core/os/state_dir.h"
#include "core/search/indexer.h"
#include "core/search/search_index.h"
#include "core/session/catalog.h"
#include "core/session/watcher.h"
#include "fs/fuse/events_file.h"
#include "fs/fuse/fuse_server.h"
#include "fs/fuse/invalidator.h"
#include "fs/fuse/mountpoint.h"
#include "fs/nodes/vfs.h"

namespace arborfs {

namespace {

/// Notices that the mount was detached while still in use (a lazy unmount), so that readers that wait for events, which
/// nothing can reach any more, do not keep the daemon alive forever.
class MountWatch {
 public:
  /// Starts a thread, which calls `on_gone` once. Does nothing if the mount is not in mountinfo.
  MountWatch(std::string mountpoint, std::function<void()> on_gone);
  /// Stops and joins.
  ~MountWatch();
  MountWatch(const MountWatch&) = delete;
  MountWatch& operator=(const MountWatch&) = delete;

 private:
  void run();
  [[nodiscard]] std::optional<std::string> read_table() const;
  const std::string mountpoint_;
  std::string mount_;  // its id
  const std::function<void()> on_gone_;
  UniqueFd table_;
  UniqueFd stop_;
  std::thread thread_;
};

MountWatch::MountWatch(std::string mountpoint, std::function<void()> on_gone)
    : mountpoint_(std::move(mountpoint)),
      on_gone_(std::move(on_gone)),
      table_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  const auto table = table_ && stop_ ? read_table() : std::nullopt;
  if (const auto entry = table ? mount_in(*table, mountpoint_) : std::nullopt) {
    mount_ = entry->id;
    thread_ = std::thread([this] { run(); });
  }
}

MountWatch::~MountWatch() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
}

/// Empty if the table cannot be read completely now.
std::optional<std::string> MountWatch::read_table() const {
  try {
    std::string text;
    std::array<char, 4096> piece;
    for (;;) {
      const ssize_t got = ::pread(table_.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
      if (got <= 0) {
        return got == 0 ? std::optional(std::move(text)) : std::nullopt;
      }
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

/// poll(2) reports POLLPRI for the table whenever something is mounted or unmounted.
void MountWatch::run() {
  constexpr int kForever = -1;
  constexpr int kLookAgain = 1000;
  for (int wait = kForever;;) {
    std::array<pollfd, 2> fds{{{stop_.get(), POLLIN, 0}, {table_.get(), POLLPRI, 0}}};
    ::poll(fds.data(), fds.size(), wait);
    if ((fds[0].revents & POLLIN) != 0) {
      return;
    }
    const auto table = read_table();
    const auto entry = table ? mount_in(*table, mountpoint_) : std::nullopt;
    if (table && (!entry || entry->id != mount_)) {
      on_gone_();
      return;
    }
    wait = table ? kForever : kLookAgain;
  }
}

/// Freed memory stays with the heap it came from, and each thread has a heap of its own: after a walk of the whole
/// mount a dozen heaps each kept as much as one had needed. So there are two heaps, and large blocks are mapped and
/// unmapped.
void keep_heaps_small() {
  constexpr int kHeaps = 2;
  constexpr int kLarge = 128 << 10;
  ::mallopt(M_ARENA_MAX, kHeaps);
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, kLarge);
}

sigset_t leaving_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU}) {
    ::sigaddset(&set, number);
  }
  return set;
}

/// A closing terminal and its shell send more than one signal: those within this time count as one.
constexpr std::chrono::seconds kOneSignal{1};

/// Waits for a signal to leave, and for a second one if leaving takes long; every other thread blocks these signals.
class SignalThread {
 public:
  SignalThread(std::function<void()> on_signal, std::function<void()> on_second)
      : on_signal_(std::move(on_signal)), on_second_(std::move(on_second)), thread_([this] { run(); }) {}
  ~SignalThread() {
    stopping_ = true;
    ::pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
    if (leaving_.joinable()) {
      leaving_.join();
    }
  }
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void run() {
    const sigset_t set = leaving_signals();
    int number = 0;
    while (::sigwait(&set, &number) == 0 && !stopping_) {
      if (!leaving_.joinable()) {
        since_ = std::chrono::steady_clock::now();
        start_leaving();
      } else if (std::chrono::steady_clock::now() - since_ > kOneSignal) {
        on_second_();
      }
    }
  }
  void start_leaving() {
    try {
      leaving_ = std::thread(on_signal_);
    } catch (const std::system_error&) {
      on_signal_();
    }
  }
  const std::function<void()> on_signal_;
  const std::function<void()> on_second_;
  std::atomic<bool> stopping_{false};
  std::thread leaving_;
  std::chrono::steady_clock::time_point since_;
  std::thread thread_;
};

class Daemon {
 public:
  explicit Daemon(const DaemonPlan& plan)
      : plan_(plan),
        catalog_(plan.stores, plan.home, state_path(""), plan.index_bytes),
        vfs_(catalog_, plan.settings.read_only),
        news_(catalog_.feed()),
        writer_(make_writer(catalog_, plan.writing)),
        changes_(vfs_, *writer_, news_, plan.settings.mountpoint),
        events_(catalog_.feed()),
        server_(vfs_, events_, plan.settings.read_only ? nullptr : &changes_, plan.settings),
        search_index_(cache_path(""), [this] { indexer_->note_damage(); }) {}

  Result<void> run(const std::function<void()>& on_ready, const std::function<void()>& on_leaving) {
    watcher_.emplace(catalog_, plan_.inotify ? Watcher::Mode::inotify : Watcher::Mode::poll_only);
    if (!plan_.settings.read_only) {
      writer_->take_back_parts();
    }
    vfs_.state().watching = [this] { return watcher_->how(); };
    if (plan_.search_index) {
      indexer_.emplace(catalog_, search::Indexer::Settings{.folder = cache_path("")});
      vfs_.state().searches.use(search_index_, [this] { indexer_->note_search(); });
    }
    RETURN_IF_ERROR(server_.mount());
    const bool served = server_.serve([this] { start_threads(); }, on_ready);
    on_leaving();
    signals_.reset();
    mount_watch_.reset();
    server_.stop_slow_work();
    invalidator_.reset();
    catalog_.feed().close();
    events_.close();
    server_.unmount();
    watcher_.reset();  // only now: these may be reading a folder that hangs
    indexer_.reset();
    catalog_.wait_for_left_behind();
    return served ? Result<void>() : Result<void>(Errc::io, "serving the mount failed");
  }

 private:
  void start_threads() {
    if (plan_.settings.notify) {
      invalidator_.emplace(vfs_.state(), news_, server_.session());
    }
    mount_watch_.emplace(plan_.settings.mountpoint, [this] { events_.hang_up(); });
    signals_.emplace([this] { leave(); }, [this] { leave_at_once(); });
  }

  /// Requests are still served during this: the invalidator may wait for one.
  void leave() {
    server_.stop_slow_work();
    invalidator_.reset();
    server_.leave();
  }

  /// Acknowledged writes are in their logs; unacknowledged ones are cut off, as by a crash.
  [[noreturn]] void leave_at_once() {
    write_log(LogLevel::warning, "second signal: exiting at once, without waiting for writes in progress");
    server_.unmount();
    ::_exit(EXIT_FAILURE);
  }

  const DaemonPlan& plan_;
  Catalog catalog_;
  Vfs vfs_;
  InvalidationQueue news_;
  const std::unique_ptr<Writer> writer_;
  WriteOps changes_;
  EventsFile events_;
  FuseServer server_;
  search::SearchIndex search_index_;
  std::optional<search::Indexer> indexer_;
  std::optional<Watcher> watcher_;
  std::optional<Invalidator> invalidator_;
  std::optional<MountWatch> mount_watch_;
  std::optional<SignalThread> signals_;  // started last, so that leave() finds the others
};

}  // namespace

Result<void> run_daemon(const DaemonPlan& plan, const std::function<void()>& on_ready,
                        const std::function<void()>& on_leaving) {
  keep_heaps_small();
  const sigset_t set = leaving_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  for (const int number : {SIGPIPE, SIGIO, SIGUSR1, SIGUSR2, SIGALRM}) {
    ::signal(number, SIG_IGN);
  }
  if (::chdir("/") != 0) {
    write_log(LogLevel::warning, "cannot change to /");
  }
  return Daemon(plan).run(on_ready, on_leaving);
}

}  // namespace arborfs
