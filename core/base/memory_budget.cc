#include "core/base/memory_budget.h"

#include "core/base/cancellation.h"

namespace arborfs {

namespace {

constexpr std::chrono::milliseconds kLookAgain{50};

}  // namespace

bool MemoryBudget::has_room(const Share& share, std::uint64_t bytes) const {
  return beyond_ == nullptr || beyond_ == &share || used_ + bytes <= shared_;
}

void MemoryBudget::wait(std::unique_lock<std::mutex>& lock, const Share& share, std::uint64_t bytes) {
  if (waiting_ == kMostWaiting) {
    throw Exhausted();
  }
  const auto until = std::chrono::steady_clock::now() + patience_;
  ++waiting_;
  while (!has_room(share, bytes) && !Cancellation::is_requested() && std::chrono::steady_clock::now() < until) {
    freed_.wait_for(lock, kLookAgain);
  }
  --waiting_;
  if (!has_room(share, bytes)) {
    throw Exhausted();
  }
}

void MemoryBudget::grow(Share& share, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (!has_room(share, bytes)) {
    wait(lock, share, bytes);
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
