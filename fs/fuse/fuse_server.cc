#include "fs/fuse/fuse_server.h"

#include <fcntl.h>
#include <fuse_log.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/base/unique_fd.h"
#include "core/entry/text.h"
#include "fs/fuse/fuse_request.h"
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
/// waiting writes may occupy (WorkerPool::kBorrowed).
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

namespace {

/// Between two batches, so that a busy writer costs little; the first change after a pause is sent at once.
constexpr std::chrono::milliseconds kPause{1};
constexpr std::chrono::milliseconds kMemoryPause{50};

}  // namespace

Invalidator::Invalidator(MountState& state, InvalidationQueue& queue, fuse_session* session)
    : map_(state), invalidations_(queue), session_(session) {
  invalidations_.open([session](NodeId node) { fuse_lowlevel_notify_inval_inode(session, node.value(), -1, 0); });
  thread_ = std::thread([this] { run(); });
}

Invalidator::~Invalidator() {
  stopping_ = true;
  invalidations_.close();
  thread_.join();
}

void Invalidator::run() {
  request_short_thread_slice();
  InvalidationQueue::Work work;
  while (has_done([&] { return invalidations_.wait(work); })) {
    has_done([&] {
      send_all(work.more);
      send_all(map_.invalidations_of(work.changes));
      return true;
    });
    invalidations_.note_notified(work);
    invalidations_.pause(kPause);
  }
}

/// Returns what `work` returns; retries it while memory is short, so that no invalidation is lost. False once stopping.
template <class Work>
bool Invalidator::has_done(const Work& work) {
  while (!stopping_) {
    try {
      return work();
    } catch (const std::exception&) {
      log_exception("cannot send invalidations to the kernel");
      std::this_thread::sleep_for(kMemoryPause);
    }
  }
  return false;
}

/// Names first: when the kernel invalidates a name that it has cached, it invalidates the attributes of its folder too.
void Invalidator::send_all(const std::vector<Invalidation>& invalidations) {
  std::set<NodeId> told;  // folders
  for (const auto& one : invalidations) {
    if (stopping_) {
      return;
    }
    if (!one.name.empty() && !invalidations_.defer(one) && send_name(one)) {
      told.insert(one.node);
    }
  }
  for (const auto& one : invalidations) {
    if (one.name.empty() && !told.contains(one.node)) {
      invalidations_.notify_at_once({one});
    }
  }
}

/// False if the kernel has not cached the name, which is not an error; neither is a mount that has just gone.
bool Invalidator::send_name(const Invalidation& one) {
  const std::uint64_t node = one.node.value();
  if (can_expire_ && !leads_elsewhere(one)) {
    const int status =
        fuse_lowlevel_notify_expire_entry(session_, node, one.name.c_str(), one.name.size(), FUSE_LL_EXPIRE_ONLY);
    can_expire_ = status != -ENOSYS;
    if (can_expire_) {
      return status == 0;
    }
  }
  return fuse_lowlevel_notify_inval_entry(session_, node, one.name.c_str(), one.name.size()) == 0;
}

namespace {

constexpr std::size_t kLongest = 8192;  // of a message; its longest part is a path

bool are_errors_said_too = false;

LogLevel level_of(fuse_log_level level) {
  switch (level) {
    case FUSE_LOG_EMERG:
    case FUSE_LOG_ALERT:
    case FUSE_LOG_CRIT:
    case FUSE_LOG_ERR:
      return LogLevel::error;
    case FUSE_LOG_WARNING:
      return LogLevel::warning;
    case FUSE_LOG_NOTICE:
    case FUSE_LOG_INFO:
      return LogLevel::info;
    case FUSE_LOG_DEBUG:
      break;
  }
  return LogLevel::debug;
}

void take_line(LogLevel level, std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');  // libfuse indents answers more than requests
  if (begin == std::string_view::npos) {
    return;
  }
  line.remove_prefix(begin);
  write_log(level, line);
  if (are_errors_said_too && (level == LogLevel::error || level == LogLevel::warning)) {
    std::fprintf(stderr, "arborfs: %s\n", visible(line).c_str());
  }
}

void take_lines(LogLevel level, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take_line(level, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void take_message(fuse_log_level level, const char* format, std::va_list arguments) noexcept {
  std::array<char, kLongest> buffer;
  if (std::vsnprintf(buffer.data(), buffer.size(), format, arguments) < 0) {
    return;
  }
  try {
    take_lines(level_of(level), buffer.data());
  } catch (const std::exception&) {  // out of memory: the message is lost, as no exception may pass through libfuse
  }
}

}  // namespace

void log_fuse_messages(bool are_errors_said) {
  are_errors_said_too = are_errors_said;
  ::fuse_set_log_func(take_message);
}

}  // namespace arborfs
