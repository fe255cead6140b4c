#include "fs/fuse/request_threads.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/log.h"

namespace arborfs {

namespace {

bool watch(int poller, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  return ::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0;
}

constexpr std::chrono::milliseconds kForever{-1};
constexpr std::chrono::milliseconds kShortOfMemory{10};

/// Sleeps until there may be a request, or serving is over.
void sleep(int poller, std::chrono::milliseconds most) {
  epoll_event event{};
  ::epoll_wait(poller, &event, 1, static_cast<int>(most.count()));
}

/// The epoll descriptor of one thread: a request wakes one sleeping thread, stop() wakes all.
UniqueFd poller_of(int requests, int stopped) {
  UniqueFd poller(::epoll_create1(EPOLL_CLOEXEC));
  const bool watches =
      poller && watch(poller.get(), requests, EPOLLIN | EPOLLEXCLUSIVE) && watch(poller.get(), stopped, EPOLLIN);
  return watches ? std::move(poller) : UniqueFd();
}

bool never_blocks(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/// True if there was no request, or no memory for one, so that receiving can be tried again.
bool is_empty(int received) {
  return received == -EAGAIN || received == -EINTR || received == -ENOMEM;
}

}  // namespace

FuseRequestLoop::FuseRequestLoop(fuse_session* session, std::function<void()> on_stop)
    : session_(session), on_stop_(std::move(on_stop)), stopped_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

int FuseRequestLoop::run(unsigned threads, const std::function<void()>& on_ready) {
  if (!stopped_) {
    return -EMFILE;
  }
  if (!never_blocks(fuse_session_fd(session_))) {
    return -errno;
  }
  const auto pollers = make_pollers(threads);
  if (pollers.empty()) {
    return -errno;
  }
  if (const int taken = take_init(pollers[0].get()); taken <= 0) {
    return taken;
  }
  on_ready();
  serve_all(pollers);
  return error_;
}

/// Empty if a poller cannot be created; errno says why.
std::vector<UniqueFd> FuseRequestLoop::make_pollers(std::size_t count) const {
  std::vector<UniqueFd> pollers;
  while (pollers.size() < count) {
    pollers.push_back(poller_of(fuse_session_fd(session_), stopped_.get()));
    if (!pollers.back()) {
      return {};
    }
  }
  return pollers;
}

/// Takes the first request, which is INIT. Returns a positive number once it is answered, 0 if the connection ended or
/// stop() was called before that, otherwise -errno.
int FuseRequestLoop::take_init(int poller) {
  fuse_buf buffer{};
  int received = -EAGAIN;
  while (is_empty(received) && !fuse_session_exited(session_)) {
    received = fuse_session_receive_buf(session_, &buffer);
    if (is_empty(received)) {
      sleep(poller, received == -ENOMEM ? kShortOfMemory : kForever);
    }
  }
  if (received > 0) {
    fuse_session_process_buf(session_, &buffer);
  }
  std::free(buffer.mem);
  if (!fuse_session_exited(session_) || (received < 0 && !is_empty(received))) {
    return received;
  }
  return is_stopping_ || received == 0 ? 0 : -EPROTO;
}

/// The caller's thread takes requests too.
void FuseRequestLoop::serve_all(const std::vector<UniqueFd>& pollers) {
  std::vector<std::thread> others;
  others.reserve(pollers.size());
  try {
    for (std::size_t n = 1; n < pollers.size(); ++n) {
      others.emplace_back([this, poller = pollers[n].get()] { work(poller); });
    }
  } catch (const std::system_error& failure) {
    write_log(LogLevel::warning, std::string("cannot start all threads for requests: ") + failure.what());
  }
  work(pollers[0].get());
  for (auto& thread : others) {
    thread.join();
  }
}

void FuseRequestLoop::stop() {
  is_stopping_ = true;
  fuse_session_exit(session_);
  ::eventfd_write(stopped_.get(), 1);
  if (on_stop_) {
    on_stop_();
  }
}

void FuseRequestLoop::work(int poller) {
  fuse_buf buffer{};
  const int status = serve(poller, buffer);
  std::free(buffer.mem);
  if (status != 0) {
    error_ = status;
  }
  stop();
}

/// Returns when serving is over: 0 or -errno.
int FuseRequestLoop::serve(int poller, fuse_buf& buffer) {
  auto awake_until = BusyPoll::Clock::time_point::min();
  while (!fuse_session_exited(session_)) {
    const int received = receive(buffer, awake_until);
    if (received > 0) {
      pace_.came(BusyPoll::Clock::now());
      fuse_session_process_buf(session_, &buffer);
      awake_until = pace_.answered(BusyPoll::Clock::now());
    } else if (!is_empty(received)) {
      return received;
    }
    if (received == -ENOMEM) {
      std::this_thread::sleep_for(kShortOfMemory);
    }
    if (is_empty(received)) {
      sleep(poller, kForever);
    }
  }
  return 0;
}

/// As fuse_session_receive_buf(). A thread that polls for a request yields the processor to other threads.
int FuseRequestLoop::receive(fuse_buf& buffer, BusyPoll::Clock::time_point awake_until) {
  int received = fuse_session_receive_buf(session_, &buffer);
  if (!is_empty(received) || !pace_.is_brisk() || BusyPoll::Clock::now() >= awake_until ||
      is_one_awake_.exchange(true)) {
    return received;
  }
  while (is_empty(received) && BusyPoll::Clock::now() < awake_until && !fuse_session_exited(session_)) {
    std::this_thread::yield();
    received = fuse_session_receive_buf(session_, &buffer);
  }
  is_one_awake_ = false;
  return received;
}

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

/// One that stops nothing if no memory is left for it.
static std::stop_source stop_source() {
  try {
    return {};
  } catch (const std::bad_alloc&) {
    return std::stop_source(std::nostopstate);
  }
}

void WorkerPool::do_job(const Job& job) {
  Running here{stop_source(), nullptr};
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) {
      here.stop.request_stop();
    }
    here.next = std::exchange(running_, &here);
  }
  const Cancellation cancellation(here.stop.get_token());
  try {
    job(here.stop);
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

void WorkerPool::run_or_submit(Job job) {
  if (borrowed_.fetch_add(1) < kBorrowed) {
    do_job(job);
  } else {
    submit(std::move(job));
  }
  --borrowed_;
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
    job->stop.request_stop();
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
