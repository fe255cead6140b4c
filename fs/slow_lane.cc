#include "fs/slow_lane.h"

#include <utility>

namespace arborfs {

SlowLane::~SlowLane() {
  stop();
}

void SlowLane::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (!cancelled_) {
      jobs_.push_back(std::move(job));
      if (idle_ < jobs_.size() && threads_.size() < most_threads_) {
        threads_.emplace_back([this] { run(); });
      }
      wake_.notify_one();
      return;
    }
  }
  job(&cancelled_);
}

bool SlowLane::run_or_submit(Job job) {
  const bool is_free = borrowed_.fetch_add(1) < kBorrowed;
  if (is_free) {
    job(&cancelled_);
  } else {
    submit(std::move(job));
  }
  --borrowed_;
  return is_free;
}

void SlowLane::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return cancelled_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) {
      return;
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(&cancelled_);
    job = nullptr;
    lock.lock();
  }
}

void SlowLane::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (auto& thread : threads) {
    thread.join();
  }
}

}  // namespace arborfs
