#include "fs/fuse/worker_pool.h"

#include <exception>
#include <new>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/exception_log.h"

namespace arborfs {

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::submit(Job job) {
  if (!queue(job)) {
    do_job(job);
  }
}

/// False if no thread of the pool can run the job.
bool WorkerPool::queue(Job& job) {
  const std::lock_guard lock(mutex_);
  if (cancelled_) {
    return false;
  }
  try {
    threads_.reserve(most_threads_);
    jobs_.emplace_back();
  } catch (const std::bad_alloc&) {
    log_exception("cannot queue a slow request, so its own thread serves it");
    return false;
  }
  if (idle_ < jobs_.size() && threads_.size() < most_threads_ && !start_thread() && threads_.empty()) {
    jobs_.pop_back();
    return false;
  }
  jobs_.back() = std::move(job);
  wake_.notify_one();
  return true;
}

bool WorkerPool::start_thread() {
  try {
    threads_.emplace_back([this] { run(); });
    return true;
  } catch (const std::exception&) {
    log_exception("cannot start a thread for slow requests");
    return false;
  }
}

void WorkerPool::do_job(const Job& job) {
  Running here;
  {
    const std::lock_guard lock(mutex_);
    here.cancelled = cancelled_.load();
    here.next = std::exchange(running_, &here);
  }
  const Cancellation cancellation(&here.cancelled);
  try {
    job(&here.cancelled);
  } catch (const std::exception&) {
    log_exception("internal error in a slow request");
  }
  const std::lock_guard lock(mutex_);
  Running** link = &running_;
  while (*link != &here) {
    link = &(*link)->next;
  }
  *link = here.next;
}

bool WorkerPool::run_or_submit(Job job) {
  const bool is_free = borrowed_.fetch_add(1) < kBorrowed;
  if (is_free) {
    do_job(job);
  } else {
    submit(std::move(job));
  }
  --borrowed_;
  return is_free;
}

void WorkerPool::run() {
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
    do_job(job);
    job = nullptr;
    lock.lock();
  }
}

void WorkerPool::tell_all_locked() {
  cancelled_ = true;
  for (Running* job = running_; job != nullptr; job = job->next) {
    job->cancelled = true;
  }
}

void WorkerPool::cancel() {
  const std::lock_guard lock(mutex_);
  tell_all_locked();
  wake_.notify_all();
}

void WorkerPool::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    tell_all_locked();
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (auto& thread : threads) {
    thread.join();
  }
}

std::shared_ptr<WorkerPool> SubmountPools::pool_of(const LogFolder& submount) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(submount);
  if (found != pools_.end()) {
    return found->second;
  }
  auto& pool = pools_.size() < kMost ? pools_[submount] : shared_;
  if (!pool) {
    pool = std::make_shared<WorkerPool>();
    if (stopped_) {
      pool->stop();
    }
  }
  return pool;
}

void SubmountPools::stop() {
  std::map<LogFolder, std::shared_ptr<WorkerPool>> pools;
  std::shared_ptr<WorkerPool> shared;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    pools = pools_;
    shared = shared_;
  }
  for (const auto& [submount, pool] : pools) {
    pool->stop();
  }
  if (shared) {
    shared->stop();
  }
}

}  // namespace arborfs
