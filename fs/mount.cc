#include "fs/mount.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/unique_fd.h"
#include "core/formats/registry.h"
#include "core/os/state_dir.h"
#include "core/search/indexer.h"
#include "core/search/search_index.h"
#include "core/session/catalog.h"
#include "core/session/watcher.h"
#include "core/store/redacted_store.h"
#include "core/store/store_set.h"
#include "core/write/writer.h"
#include "fs/fuse/events_file.h"
#include "fs/fuse/fuse_server.h"
#include "fs/fuse/mountpoint.h"
#include "fs/nodes/vfs.h"

namespace arborfs {

namespace {

/// What a mount needs, found before anything is done.
struct DaemonPlan {
  const MountOptions& options;
  StoreSet stores;
  MountSettings settings{};
  WriteSettings writing{};
  std::string home{};
  bool search_index = true;
};

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

/// The serving process: the catalog and all threads except those for requests. They start after the fork and stop in an
/// order in which no thread waits for one that has ended.
class Daemon {
 public:
  explicit Daemon(const DaemonPlan& plan)
      : plan_(plan),
        catalog_(plan.stores, plan.home, state_path(""), plan.options.index_bytes),
        vfs_(catalog_, plan.settings.read_only),
        invalidations_(catalog_.feed()),
        writer_(make_writer(catalog_, plan.writing)),
        changes_(vfs_, *writer_, invalidations_, plan.settings.mountpoint),
        events_(catalog_.feed()),
        server_(vfs_, events_, plan.settings.read_only ? nullptr : &changes_, plan.settings),
        search_index_(cache_path(""), [this] { indexer_->note_damage(); }) {}

  Result<void> run(const std::function<void()>& on_ready, const std::function<void()>& on_leaving) {
    RETURN_IF_ERROR(catalog_.read_names());
    watcher_.emplace(catalog_, plan_.options.inotify ? Watcher::Mode::inotify : Watcher::Mode::poll_only);
    if (!plan_.settings.read_only) {
      writer_->take_back_parts();
    }
    vfs_.state().watching = [this] { return watcher_->how(); };
    if (plan_.search_index) {
      indexer_.emplace(catalog_, search::Indexer::Settings{.folder = cache_path("")});
      for (search::RecentSearches* searches : {&vfs_.state().searches, &vfs_.state().file_searches}) {
        searches->use(search_index_, [this] { indexer_->note_search(); });
      }
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
      invalidator_.emplace(vfs_.state(), invalidations_, server_.session());
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
  InvalidationQueue invalidations_;
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

/// Mounts and serves until unmounted or until SIGTERM, SIGINT, SIGHUP, SIGQUIT or SIGXCPU, which is a success too.
/// Ignores SIGPIPE, SIGIO, SIGUSR1, SIGUSR2 and SIGALRM, which would end the process and leave a dead mount. Calls
/// `on_ready` once mounted, and `on_leaving` once no more requests are served. The caller must have no other threads.
/// Errors: io.
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

/// Reports progress to the service manager that started this process, by the protocol of sd_notify(3): a systemd unit
/// of Type=notify counts as started once the mount works.
class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET and removes it from the environment: programs started by this one are not part of the service.
  /// Call it before other threads start.
  ServiceManager();
  /// Sends an assignment such as READY=1. Does nothing if there is no service manager.
  void tell(std::string_view assignment) const;

 private:
  std::string socket_;  // "" for none; one that begins with '@' is abstract
};

constexpr const char* kVariable = "NOTIFY_SOCKET";

ServiceManager::ServiceManager() {
  const char* const named = std::getenv(kVariable);
  if (named != nullptr && (named[0] == '/' || named[0] == '@') && std::strlen(named) < sizeof(sockaddr_un::sun_path)) {
    socket_ = named;
  }
  ::unsetenv(kVariable);
}

void ServiceManager::tell(std::string_view assignment) const {
  if (socket_.empty()) {
    return;
  }
  constexpr timeval kPatience{5, 0};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, socket_.size());
  if (socket_.front() == '@') {
    address.sun_path[0] = '\0';
  }
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const ssize_t sent = ::sendto(fd.get(), assignment.data(), assignment.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  if (sent < 0) {
    write_log(LogLevel::warning, "cannot reach the service manager");
  }
}

constexpr char kReady = '+';

std::string hint_for_failed_mount(const MountOptions& options) {
  if (::access("/dev/fuse", F_OK) != 0) {
    return "; there is no /dev/fuse: load the kernel module fuse";
  }
  if (::access("/dev/fuse", R_OK | W_OK) != 0) {
    return "; /dev/fuse may not be opened by this user";
  }
  if (options.allow_other && ::getuid() != 0) {
    return "; allow_other needs user_allow_other in /etc/fuse.conf";
  }
  return "";
}

std::vector<std::string> folders_of(const StoreSet& stores) {
  std::vector<std::string> folders;
  for (const auto& store : stores) {
    const StorePaths& paths = store->paths();
    for (const std::string& path : {paths.agent_dir, paths.sessions, paths.blobs, paths.terminals}) {
      if (!path.empty()) {
        folders.push_back(path);
      }
    }
  }
  return folders;
}

/// A store that the user names by --store is there, or its path is wrong. An agent dir may appear later
/// (CONTRACT.md 7.8).
Result<void> check_named_stores(const std::vector<ChosenStore>& stores) {
  for (const ChosenStore& store : stores) {
    std::error_code failed;
    if (!store.is_agent_dir && !std::filesystem::exists(store.dir, failed) && !failed) {
      return {Errc::not_found,
              "there is no folder " + store.dir + " for the store of " + store.agent +
                  "; name one that exists, or leave out --store: then the stores of all agents are shown "
                  "as soon as they exist"};
    }
  }
  return {};
}

/// Errors: invalid_argument for rules of the user that are wrong.
Result<StoreSet> redacted_stores(const StoreSet& stores, const std::string& home) {
  const auto rules = redact::Rules::in_force(redact::Person::here(home));
  if (!rules->problem().empty()) {
    return Error{Errc::invalid_argument, rules->problem() + "; nothing is redacted without all rules"};
  }
  const auto redaction = std::make_shared<const LogRedaction>(rules);
  std::vector<std::shared_ptr<Store>> redacted;
  for (const auto& store : stores) {
    redacted.push_back(redacted_store(store, redaction));
  }
  return StoreSet(std::move(redacted));
}

/// Checks everything before anything is done, so that in the background only the mount itself can fail.
Result<DaemonPlan> plan_of(const MountOptions& options) {
  ASSIGN_OR_RETURN(const auto mountpoint, resolve_mountpoint(options.mountpoint));
  RETURN_IF_ERROR(check_named_stores(options.stores));
  const bool is_read_only = options.read_only || options.redact;
  ASSIGN_OR_RETURN(auto stores, open_stores(options.stores, is_read_only ? Access::look : Access::write));
  RETURN_IF_ERROR(heal_mountpoint(mountpoint));
  RETURN_IF_ERROR(check_apart(mountpoint, folders_of(stores)));
  const char* const variable = std::getenv("HOME");
  std::string home = variable == nullptr ? "" : variable;
  ASSIGN_OR_RETURN(auto shown, options.redact ? redacted_stores(stores, home) : Result<StoreSet>(std::move(stores)));
  DaemonPlan plan{.options = options, .stores = std::move(shown)};
  const StorePaths& paths = plan.stores.main().paths();
  plan.settings.mountpoint = mountpoint;
  plan.settings.source = paths.agent_dir;
  plan.settings.sessions = paths.sessions;
  plan.settings.fuse_options = options.fuse_options;
  if (options.allow_other) {
    plan.settings.fuse_options.emplace_back("allow_other");
  }
  plan.settings.read_only = is_read_only;
  plan.settings.xattr = options.xattr;
  plan.settings.notify = options.notify;
  plan.settings.debug = options.debug;
  plan.settings.max_read = options.max_read;
  plan.writing = options.writing;
  plan.writing.mountpoint = mountpoint;
  plan.home = std::move(home);
  plan.search_index = options.search_index && !options.redact;  // the index has the words of all texts
  if (const LogRedaction* const redaction = plan.stores.redaction()) {
    plan.home = redaction->text(plan.home);  // as the working directories of sessions have it
    plan.settings.source = "arborfs";
  }
  return plan;
}

Result<void> start_log(const MountOptions& options) {
  const LogLevel level = options.debug ? LogLevel::debug : LogLevel::info;
  const bool is_on_stderr = options.foreground && options.log_file.empty();
  auto opened = is_on_stderr || !options.log_file.empty() ? open_log(options.log_file, level) : Result<void>();
  log_fuse_messages(!is_on_stderr);
  return opened;
}

/// From here on the output of this process is discarded.
void detach_from_terminal() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(null.get(), fd);
  }
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno != EINTR) {
      return;
    }
    text.remove_prefix(done < 0 ? 0 : static_cast<std::size_t>(done));
  }
}

std::string read_all(int fd) {
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return text;
    }
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<void> serve(const DaemonPlan& plan, const std::function<void()>& on_ready,
                   const std::function<void()>& on_leaving) {
  if (!plan.options.debug) {
    ::prctl(PR_SET_DUMPABLE, 0);
  }
  auto done = run_daemon(plan, on_ready, on_leaving);
  if (!done && done.error().code == Errc::io) {
    return {Errc::io, done.error().message + hint_for_failed_mount(plan.options)};
  }
  return done;
}

/// The process that stays: reports through `parent` that it is mounted, or why not. It leaves its parent's process
/// group only once it has mounted: until then autofs makes processes of any other group wait for that very mount.
[[noreturn]] void become_daemon(const DaemonPlan& plan, UniqueFd parent) {
  bool is_ready = false;
  auto done = start_log(plan.options);
  if (done) {
    const auto on_ready = [&] {
      is_ready = true;
      ::setsid();
      detach_from_terminal();
      write_all(parent.get(), {&kReady, 1});
      parent.reset();
    };
    done = serve(plan, on_ready, [] {});
  }
  if (!is_ready) {
    write_all(parent.get(), done ? "the mount ended right after it was made" : done.error().message);
  } else if (!done) {
    write_log(LogLevel::error, done.error().message);
  }
  ::_exit(done ? 0 : 1);
}

Result<void> mount_in_background(const DaemonPlan& plan) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return error_from_errno(errno, "cannot create a pipe");
  }
  UniqueFd own(ends[0]);
  UniqueFd of_child(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    return error_from_errno(errno, "cannot start in the background");
  }
  if (child == 0) {
    own.reset();
    become_daemon(plan, std::move(of_child));
  }
  of_child.reset();
  const std::string said = read_all(own.get());
  if (!said.empty() && said.front() == kReady) {
    return {};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {Errc::io, said.empty() ? "the daemon died before it was mounted" : said};
}

}  // namespace

Result<void> run_mount(const MountOptions& options, const std::function<void(const std::string&)>& tell) {
  ASSIGN_OR_RETURN(const auto plan, plan_of(options));
  if (has_files(plan.settings.mountpoint)) {
    tell(options.mountpoint + " is not empty: its contents are hidden until it is unmounted");
  }
  if (!options.foreground) {
    return mount_in_background(plan);
  }
  RETURN_IF_ERROR(start_log(options));
  const ServiceManager manager;
  return serve(
      plan, [&] { manager.tell("READY=1"); }, [&] { manager.tell("STOPPING=1"); });
}

namespace {

/// Options without a value that arborfs itself handles.
struct Flag {
  std::string_view word;
  void (*apply)(MountOptions&);
};

constexpr std::array kFlags = {
    Flag{"ro", [](MountOptions& options) { options.read_only = true; }},
    Flag{"rw", [](MountOptions& options) { options.read_only = false; }},
    Flag{"allow_other", [](MountOptions& options) { options.allow_other = true; }},
    Flag{"xattr", [](MountOptions& options) { options.xattr = true; }},
    Flag{"noxattr", [](MountOptions& options) { options.xattr = false; }},
    Flag{"noinotify", [](MountOptions& options) { options.inotify = false; }},
    Flag{"nosearchindex", [](MountOptions& options) { options.search_index = false; }},
    Flag{"nonotify", [](MountOptions& options) { options.notify = false; }},
    Flag{"allow_delete", [](MountOptions& options) { options.writing.allow_delete = true; }},
    Flag{"history", [](MountOptions& options) { options.writing.history = true; }},
    Flag{"live=write", [](MountOptions& options) { options.writing.write_live = true; }},
    Flag{"durability=none", [](MountOptions& options) { options.writing.durability = Durability::none; }},
    Flag{"durability=synced", [](MountOptions& options) { options.writing.durability = Durability::synced; }},
    Flag{"redact", [](MountOptions& options) { options.redact = true; }},
    Flag{"debug", [](MountOptions& options) { options.debug = true; }},
};

/// Options of mount(8), fstab and sshfs that have no meaning here, or are always in effect.
constexpr std::array<std::string_view, 38> kPassedOver = {
    "defaults",   "auto",        "noauto",        "user",       "nouser",     "users",    "nousers",
    "owner",      "group",       "_netdev",       "nofail",     "suid",       "nosuid",   "dev",
    "nodev",      "exec",        "async",         "sync",       "dirsync",    "atime",    "relatime",
    "norelatime", "strictatime", "nostrictatime", "diratime",   "nodiratime", "lazytime", "nolazytime",
    "mand",       "nomand",      "iversion",      "noiversion", "silent",     "loud",     "default_permissions",
    "nonempty",   "big_writes",  "large_read"};

constexpr std::array<std::string_view, 3> kForLibfuse = {"noexec", "noatime", "auto_unmount"};

/// Prefixes of options with a value that are ignored: the source is always the agent dir, the type arborfs.
constexpr std::array<std::string_view, 9> kPassedOverWithValue = {
    "x-", "X-", "comment=", "fsname=", "subtype=", "max_threads=", "max_idle_threads=", "uid=", "gid="};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

/// `value` is in MiB.
Result<void> apply_index_memory(const std::string& word, std::string_view value, MountOptions& into) {
  constexpr std::size_t kMost = 1 << 20;
  std::size_t mebibytes = 0;
  if (!read_number(value, mebibytes) || mebibytes > kMost) {
    return {Errc::invalid_argument, "'" + word + "' is not a number of MiB"};
  }
  into.index_bytes = mebibytes << 20U;
  return {};
}

Result<void> apply_max_read(const std::string& word, std::string_view value, MountOptions& into) {
  unsigned bytes = 0;
  if (!read_number(value, bytes) || bytes == 0) {
    return {Errc::invalid_argument, "'" + word + "' is not a number of bytes"};
  }
  into.max_read = bytes;
  return {};
}

Result<void> apply_value(const std::string& word, std::string_view name, std::string value, MountOptions& into) {
  if (name == "agent_dir") {
    std::erase_if(into.stores, [](const ChosenStore& store) { return store.is_agent_dir; });
    if (!value.empty()) {
      into.stores.push_back({"omp", std::move(value), true});
    }
    return {};
  }
  if (name == "store") {
    ASSIGN_OR_RETURN(auto store, parse_chosen_store(value));
    into.stores.push_back(std::move(store));
    return {};
  }
  if (name == "log") {
    into.log_file = std::move(value);
    return {};
  }
  if (name == "index_memory") {
    return apply_index_memory(word, value, into);
  }
  if (name == "max_read") {
    return apply_max_read(word, value, into);
  }
  return {Errc::invalid_argument, "unknown mount option '" + word + "'; man 1 arborfs lists the options"};
}

Result<void> apply_word(const std::string& word, MountOptions& into) {
  const auto flag = std::find_if(kFlags.begin(), kFlags.end(), [&](const Flag& row) { return row.word == word; });
  if (flag != kFlags.end()) {
    flag->apply(into);
    return {};
  }
  if (contains(kForLibfuse, word)) {
    into.fuse_options.push_back(word);
    return {};
  }
  const bool passed_over = word.empty() || contains(kPassedOver, word) ||
                           std::any_of(kPassedOverWithValue.begin(), kPassedOverWithValue.end(),
                                       [&](std::string_view beginning) { return word.starts_with(beginning); });
  if (passed_over) {
    return {};
  }
  const std::size_t equals = word.find('=');
  const std::string_view name = std::string_view(word).substr(0, equals);
  return apply_value(word, name, equals == std::string::npos ? "" : word.substr(equals + 1), into);
}

}  // namespace

Result<void> parse_mount_options(std::string_view list, MountOptions& into) {
  std::string word;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    if (at == list.size() || list[at] == ',') {
      RETURN_IF_ERROR(apply_word(word, into));
      word.clear();
    } else if (list[at] == '\\' && at + 1 < list.size()) {
      word += list[++at];
    } else {
      word += list[at];
    }
  }
  return {};
}

Result<MountOptions> parse_mount_options(std::string_view list) {
  MountOptions options;
  RETURN_IF_ERROR(parse_mount_options(list, options));
  return options;
}

}  // namespace arborfs
