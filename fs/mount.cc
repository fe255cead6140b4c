#include "fs/mount.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/base/unique_fd.h"
#include "fs/daemon.h"
#include "fs/fuse/fuse_messages.h"
#include "fs/fuse/mountpoint.h"

namespace arborfs {

namespace {

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

/// Checks everything before anything is done, so that in the background only the mount itself can fail.
Result<DaemonPlan> plan_of(const MountOptions& options) {
  ASSIGN_OR_RETURN(const auto mountpoint, resolve_mountpoint(options.mountpoint));
  RETURN_IF_ERROR(check_named_stores(options.stores));
  ASSIGN_OR_RETURN(auto stores, open_stores(options.stores, options.read_only ? Access::look : Access::write));
  DaemonPlan plan{.stores = std::move(stores)};
  RETURN_IF_ERROR(heal_mountpoint(mountpoint));
  RETURN_IF_ERROR(check_apart(mountpoint, folders_of(plan.stores)));
  const StorePaths& paths = plan.stores.main().paths();
  plan.settings.mountpoint = mountpoint;
  plan.settings.source = paths.agent_dir;
  plan.settings.sessions = paths.sessions;
  plan.settings.fuse_options = options.fuse_options;
  if (options.allow_other) {
    plan.settings.fuse_options.emplace_back("allow_other");
  }
  plan.settings.read_only = options.read_only;
  plan.settings.xattr = options.xattr;
  plan.settings.notify = options.notify;
  plan.settings.debug = options.debug;
  plan.settings.max_read = options.max_read;
  plan.writing = options.writing;
  plan.writing.mountpoint = mountpoint;
  plan.inotify = options.inotify;
  plan.index_bytes = options.index_bytes;
  plan.search_index = options.search_index;
  const char* home = std::getenv("HOME");
  plan.home = home == nullptr ? "" : home;
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

Result<void> serve(const MountOptions& options, const DaemonPlan& plan, const std::function<void()>& on_ready,
                   const std::function<void()>& on_leaving) {
  if (!options.debug) {
    ::prctl(PR_SET_DUMPABLE, 0);
  }
  auto done = run_daemon(plan, on_ready, on_leaving);
  if (!done && done.error().code == Errc::io) {
    return {Errc::io, done.error().message + hint_for_failed_mount(options)};
  }
  return done;
}

/// The process that stays: reports through `parent` that it is mounted, or why not. It leaves its parent's process
/// group only once it has mounted: until then autofs makes processes of any other group wait for that very mount.
[[noreturn]] void become_daemon(const MountOptions& options, const DaemonPlan& plan, UniqueFd parent) {
  bool is_ready = false;
  auto done = start_log(options);
  if (done) {
    const auto on_ready = [&] {
      is_ready = true;
      ::setsid();
      detach_from_terminal();
      write_all(parent.get(), {&kReady, 1});
      parent.reset();
    };
    done = serve(options, plan, on_ready, [] {});
  }
  if (!is_ready) {
    write_all(parent.get(), done ? "the mount ended right after it was made" : done.error().message);
  } else if (!done) {
    write_log(LogLevel::error, done.error().message);
  }
  ::_exit(done ? 0 : 1);
}

Result<void> mount_in_background(const MountOptions& options, const DaemonPlan& plan) {
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
    become_daemon(options, plan, std::move(of_child));
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
    return mount_in_background(options, plan);
  }
  RETURN_IF_ERROR(start_log(options));
  const ServiceManager manager;
  return serve(
      options, plan, [&] { manager.tell("READY=1"); }, [&] { manager.tell("STOPPING=1"); });
}

}  // namespace arborfs
