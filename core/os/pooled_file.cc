#include "core/os/pooled_file.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <utility>

#include "core/base/error.h"

namespace arborfs {

struct PooledFile::State {
  std::mutex mutex;
  std::shared_ptr<const File> file;  // guarded by mutex; null while closed
  FileStat identity;
  Opener reopen;
  std::atomic<bool> used{true};
};

namespace {

/// Lock order: State::mutex and Pool::mutex_ are never held together; the pool takes one after the other.
class Pool {
 public:
  void add(const std::shared_ptr<PooledFile::State>& state) {
    std::vector<std::shared_ptr<PooledFile::State>> to_close;
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(state);
      while (open_.size() > limit_) {
        if (auto victim = next_victim()) {
          to_close.push_back(std::move(victim));
        }
      }
    }
    close(to_close);
  }

  void close_all() {
    std::vector<std::shared_ptr<PooledFile::State>> to_close;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& weak : open_) {
        if (auto state = weak.lock()) {
          to_close.push_back(std::move(state));
        }
      }
      open_.clear();
    }
    close(to_close);
  }

 private:
  /// Removes the oldest file that was not used since it was last passed over; null if that file no longer exists.
  std::shared_ptr<PooledFile::State> next_victim() {
    for (std::size_t passed = open_.size(); passed > 0; --passed) {
      auto state = open_.front().lock();
      open_.pop_front();
      if (!state || !state->used.exchange(false)) {
        return state;
      }
      open_.push_back(state);
    }
    auto state = open_.front().lock();
    open_.pop_front();
    return state;
  }

  static void close(const std::vector<std::shared_ptr<PooledFile::State>>& states) {
    for (const auto& state : states) {
      const std::lock_guard lock(state->mutex);
      state->file.reset();
    }
  }

  const std::size_t limit_ = pooled_file_limit();
  std::mutex mutex_;
  std::list<std::weak_ptr<PooledFile::State>> open_;  // guarded by mutex_
};

Pool& pool() {
  static Pool the_pool;
  return the_pool;
}

Result<std::shared_ptr<const File>> open_again(const PooledFile::State& state) {
  auto file = state.reopen();
  if (!file && file.error().code == Errc::busy) {
    pool().close_all();
    file = state.reopen();
  }
  if (!file) {
    return file.error().code == Errc::busy ? file.error()
                                           : Error{Errc::stale, "the log was moved or removed; try again"};
  }
  const auto st = file->stat();
  if (!st || !st->same_file(state.identity)) {
    return Error{Errc::stale, "another file replaced the log; try again"};
  }
  return std::shared_ptr<const File>(std::make_shared<File>(std::move(file).value()));
}

}  // namespace

std::size_t pooled_file_limit() {
  rlimit limit{};
  const std::size_t descriptors =
      ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur) : 1024;
  return std::clamp<std::size_t>(descriptors / 4, 8, 1024);
}

PooledFile::PooledFile(File file, const FileStat& stat, Opener reopen) : state_(std::make_shared<State>()) {
  state_->file = std::make_shared<File>(std::move(file));
  state_->identity = stat;
  state_->reopen = std::move(reopen);
  if (state_->reopen) {
    pool().add(state_);
  }
}

Result<std::shared_ptr<const File>> PooledFile::acquire() const {
  state_->used.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->file) {
      return state_->file;
    }
  }
  ASSIGN_OR_RETURN(auto file, open_again(*state_));
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->file) {
      return state_->file;
    }
    state_->file = file;
  }
  pool().add(state_);
  return file;
}

}  // namespace arborfs
