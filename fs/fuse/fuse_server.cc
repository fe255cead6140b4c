#include "fs/fuse/fuse_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "core/base/unique_fd.h"
#include "fs/fuse/fuse_operations.h"
#include "fs/fuse/mountpoint.h"

namespace arborfs {

struct statvfs space_of(std::string folder) {
  struct statvfs found {};
  while (::statvfs(folder.c_str(), &found) != 0) {
    const std::size_t slash = folder.find_last_of('/');
    if ((errno != ENOENT && errno != ENOTDIR) || slash == std::string::npos || folder == "/") {
      return {};
    }
    folder.resize(slash == 0 ? 1 : slash);
  }
  return found;
}

namespace {

/// One per processor: requests are short, and for each the kernel wakes a sleeping thread. At least one more than
/// waiting writes may occupy (WorkerPool::kBorrowed); if there are more writes, the reserve takes requests.
unsigned worker_threads() {
  constexpr unsigned kLeast = 1 + WorkerPool::kBorrowed;
  constexpr unsigned kMost = 10;
  return std::clamp(std::thread::hardware_concurrency(), kLeast, kMost);
}

/// libfuse splits its options at commas.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ',' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string option_text(const MountSettings& settings) {
  std::string text = "default_permissions,nosuid,nodev,subtype=arborfs,fsname=" + escaped(settings.source);
  if (settings.read_only) {
    text += ",ro";
  }
  if (settings.max_read != 0) {
    text += ",max_read=" + std::to_string(settings.max_read);
  }
  for (const auto& option : settings.fuse_options) {
    text += "," + option;
  }
  return text;
}

/// Replaces the descriptor by the write end of a pipe without a reader: the connection ends, and poll gives POLLERR.
bool sever(int descriptor) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return false;
  }
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  return ::dup3(writer.get(), descriptor, O_CLOEXEC) >= 0;
}

}  // namespace

FuseServer::FuseServer(Vfs& vfs, EventsFile& events, WriteOps* changes, MountSettings settings)
    : vfs_(vfs),
      events_(events),
      changes_(changes),
      settings_(std::move(settings)),
      space_([sessions = settings_.sessions] { return space_of(sessions); }) {}

FuseServer::~FuseServer() {
  stop_slow_work();
  interrupts_.stop();
  unmount();
  if (session_ != nullptr) {
    fuse_session_destroy(session_);
  }
}

Result<void> FuseServer::mount() {
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&args, "arborfs");
  fuse_opt_add_arg(&args, "-o");
  fuse_opt_add_arg(&args, option_text(settings_).c_str());
  if (settings_.debug) {
    fuse_opt_add_arg(&args, "-d");
  }
  const fuse_lowlevel_ops ops = fuse_operations(settings_);
  session_ = fuse_session_new(&args, &ops, sizeof ops, this);
  fuse_opt_free_args(&args);
  if (session_ == nullptr) {
    return {Errc::invalid_argument, "libfuse refused the mount options"};
  }
  if (fuse_session_mount(session_, settings_.mountpoint.c_str()) != 0) {
    return {Errc::io, "cannot mount on " + settings_.mountpoint};
  }
  is_mounted_ = true;
  if (const auto entry = mount_at(settings_.mountpoint)) {
    mount_ = entry->id;
  }
  loop_.emplace(session_, [this] {
    worker_pool_.cancel();
    search_pool_.cancel();
    write_pool_.cancel();
  });
  return {};
}

void FuseServer::start_read_ahead() {
  read_ahead_.emplace(vfs_.state(), [this](NodeId node, std::string_view bytes) {
    fuse_bufvec whole{};
    whole.count = 1;
    whole.buf[0].size = bytes.size();
    whole.buf[0].mem = const_cast<char*>(bytes.data());
    whole.buf[0].fd = -1;
    return fuse_lowlevel_notify_store(session_, node.value(), 0, &whole, static_cast<fuse_buf_copy_flags>(0)) == 0;
  });
}

bool FuseServer::serve(std::function<void()> on_init, const std::function<void()>& on_ready) {
  on_init_ = std::move(on_init);
  const int status = loop_->run(worker_threads(), on_ready);
  return status == 0 || status == -ECONNABORTED;  // aborted from outside, as by umount -f, is unmounted too
}

void FuseServer::leave() {
  loop_->stop();
}

/// libfuse unmounts whatever is now at the path, unless it finds its descriptor dead. If this mount is no longer there,
/// closing its descriptor is enough to remove it, and the path is not touched: an autofs there would mount again.
void FuseServer::unmount() {
  if (!std::exchange(is_mounted_, false)) {
    return;
  }
  const auto table = mount_table();
  const auto now = table ? mount_in(*table, settings_.mountpoint) : std::nullopt;
  const bool is_gone = table && !mount_.empty() && (!now || now->id != mount_);
  if (!is_gone || sever(fuse_session_fd(session_))) {
    fuse_session_unmount(session_);
  }
  if (!is_gone) {
    detach_if_dead(settings_.mountpoint, mount_);
  }
}

}  // namespace arborfs
