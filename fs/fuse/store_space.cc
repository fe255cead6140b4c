#include "fs/fuse/store_space.h"

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/exception_log.h"

namespace arborfs {

struct StoreSpace::State {
  std::mutex mutex;  // leaf
  std::condition_variable answered;
  struct statvfs known {};                              // guarded by mutex
  bool is_asking = false;                               // guarded by mutex
  std::chrono::steady_clock::time_point fresh_until{};  // guarded by mutex
};

StoreSpace::StoreSpace(Ask ask) : ask_(std::move(ask)), state_(std::make_shared<State>()) {}

/// One query at a time: while the file system hangs, only the first request waits for it.
struct statvfs StoreSpace::now() {
  std::unique_lock lock(state_->mutex);
  if (state_->is_asking || std::chrono::steady_clock::now() < state_->fresh_until) {
    return state_->known;
  }
  try {
    std::thread([how = ask_, state = state_] { ask(how, state); }).detach();
    state_->is_asking = true;
  } catch (const std::system_error&) {
    log_exception("cannot query the free space of the store's file system");
    return state_->known;
  }
  state_->answered.wait_for(lock, kPatience, [this] { return !state_->is_asking; });
  return state_->known;
}

void StoreSpace::ask(const Ask& how, const std::shared_ptr<State>& state) noexcept {
  const struct statvfs found = how();
  const std::lock_guard lock(state->mutex);
  state->known = found;
  state->is_asking = false;
  state->fresh_until = std::chrono::steady_clock::now() + kFresh;
  state->answered.notify_all();
}

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

}  // namespace arborfs
