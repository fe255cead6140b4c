#include "fs/fuse_loop.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace arborfs {

namespace {

/// Ends a wait; the handler has nothing to do.
constexpr int kWakeSignal = SIGUSR1;

void handle_wake(int /*signal*/) {}

}  // namespace

FuseLoop::FuseLoop(fuse_session* session, unsigned threads) : session_(session), count_(threads) {
  struct sigaction action {};
  action.sa_handler = handle_wake;
  ::sigaction(kWakeSignal, &action, nullptr);
}

int FuseLoop::run() {
  std::vector<std::thread> others;
  for (unsigned i = 1; i < count_; ++i) {
    others.emplace_back([this] { work(); });
  }
  work();
  for (auto& thread : others) {
    thread.join();
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  return error_;
}

bool FuseLoop::wake() {
  const std::lock_guard lock(mutex_);
  for (const pthread_t thread : threads_) {
    ::pthread_kill(thread, kWakeSignal);
  }
  return !is_over_;
}

void FuseLoop::work() {
  {
    const std::lock_guard lock(mutex_);
    threads_.push_back(::pthread_self());
  }
  take_requests();
  const std::lock_guard lock(mutex_);
  std::erase_if(threads_, [](pthread_t thread) { return ::pthread_equal(thread, ::pthread_self()) != 0; });
}

void FuseLoop::fail(int error) {
  fuse_session_exit(session_);
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
  }
  wake();
}

void FuseLoop::take_requests() {
  fuse_buf buffer{};  // libfuse makes its room with the first request
  while (fuse_session_exited(session_) == 0) {
    const int got = fuse_session_receive_buf(session_, &buffer);
    if (got > 0) {
      fuse_session_process_buf(session_, &buffer);
    } else if (got < 0 && got != -EINTR) {
      fail(got);
    }
  }
  std::free(buffer.mem);
}

}  // namespace arborfs
