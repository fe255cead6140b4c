#include "core/base/memory_budget.h"

namespace arborfs {

namespace {

constexpr std::chrono::milliseconds kLookAgain{50};

}  // namespace

bool MemoryBudget::has_room(const Share& share, std::uint64_t bytes) const {
  return beyond_ == nullptr || beyond_ == &share || used_ + bytes <= shared_;
}

void MemoryBudget::wait(std::unique_lock<std::mutex>& lock, const Share& share, std::uint64_t bytes,
                        const std::atomic<bool>* cancelled) {
  if (waiting_ == kMostWaiting) {
    throw Exhausted();
  }
  const auto until = std::chrono::steady_clock::now() + patience_;
  const auto is_cancelled = [cancelled] { return cancelled != nullptr && *cancelled; };
  ++waiting_;
  while (!has_room(share, bytes) && !is_cancelled() && std::chrono::steady_clock::now() < until) {
    freed_.wait_for(lock, kLookAgain);
  }
  --waiting_;
  if (!has_room(share, bytes)) {
    throw Exhausted();
  }
}

void MemoryBudget::grow(Share& share, std::uint64_t bytes, const std::atomic<bool>* cancelled) {
  std::unique_lock lock(mutex_);
  if (!has_room(share, bytes)) {
    wait(lock, share, bytes, cancelled);
  }
  if (beyond_ != &share && used_ + bytes <= shared_) {
    used_ += bytes;
  } else if (beyond_ != &share) {
    beyond_ = &share;
    used_ -= share.bytes_;
    freed_.notify_all();
  }
  share.bytes_ += bytes;
}

void MemoryBudget::shrink(Share& share, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes >= share.bytes_) {
    return;
  }
  if (beyond_ != &share) {
    used_ -= share.bytes_ - bytes;
  } else if (used_ + bytes <= shared_) {
    used_ += bytes;
    beyond_ = nullptr;
  }
  share.bytes_ = bytes;
  freed_.notify_all();
}

}  // namespace arborfs
