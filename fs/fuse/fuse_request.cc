#include "fs/fuse/fuse_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/log.h"
#include "core/base/unique_fd.h"

namespace arborfs {

namespace {

constexpr std::uint64_t bit(int signal_number) {
  return std::uint64_t{1} << static_cast<unsigned>(signal_number - 1);
}

std::uint64_t mask_after(std::string_view status, std::string_view key) {
  const std::size_t at = status.find(key);
  if (at == std::string_view::npos) {
    return 0;
  }
  std::string_view digits = status.substr(at + key.size());
  digits.remove_prefix(std::min(digits.find_first_not_of(" \t"), digits.size()));
  std::uint64_t mask = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  return mask;
}

/// Pending signals of a thread or its process, and the signals that the thread blocks.
struct Signals {
  std::uint64_t pending = 0;
  std::uint64_t blocked = 0;
};

/// Empty if the thread is gone or cannot be seen from here. No signals if this process lacks descriptors or memory to
/// check: a client that is wrongly taken for gone would write again.
std::optional<Signals> signals_of(pid_t tid) {
  if (tid <= 0) {
    return std::nullopt;
  }
  const UniqueFd fd(::open(("/proc/" + std::to_string(tid) + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    return Signals{};
  }
  std::array<char, 4096> buffer{};
  const ssize_t got = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (got <= 0) {
    return std::nullopt;
  }
  const std::string_view status(buffer.data(), static_cast<std::size_t>(got));
  return Signals{mask_after(status, "\nSigPnd:") | mask_after(status, "\nShdPnd:"), mask_after(status, "\nSigBlk:")};
}

}  // namespace

bool is_asked_to_stop(pid_t tid) {
  constexpr std::uint64_t kStops = bit(SIGINT) | bit(SIGTERM) | bit(SIGHUP) | bit(SIGQUIT);
  const auto signals = signals_of(tid);
  return !signals || (signals->pending & bit(SIGKILL)) != 0 || (signals->pending & kStops & ~signals->blocked) != 0;
}

bool is_killed(pid_t tid) {
  if (tid <= 0) {
    return false;
  }
  const auto signals = signals_of(tid);
  return !signals || (signals->pending & bit(SIGKILL)) != 0;
}

namespace {

constexpr std::chrono::milliseconds kLookAgain{50};

}  // namespace

std::shared_ptr<ParkedRequest> ParkedRequest::park(fuse_req_t request, EndsBy ends_by, InterruptWatch& watch) {
  auto parked = std::make_shared<ParkedRequest>(request, ends_by, watch);
  fuse_req_interrupt_func(request, &ParkedRequest::on_interrupt, parked.get());
  bool early = false;
  {
    const std::lock_guard lock(parked->mutex_);
    parked->registered_ = true;
    early = parked->early_;
  }
  if (early) {
    parked->interrupted(Caller::anyone);
  }
  return parked;
}

/// libfuse calls this with its lock of the request held. While the function is being registered, an answer would free
/// the request that libfuse is using, so an early interrupt is left to park().
void ParkedRequest::on_interrupt(fuse_req_t /*request*/, void* data) {
  const auto parked = static_cast<ParkedRequest*>(data)->shared_from_this();
  {
    const std::lock_guard lock(parked->mutex_);
    if (!parked->registered_) {
      parked->early_ = true;
      return;
    }
  }
  parked->interrupted(Caller::interrupt_function);
}

fuse_req_t ParkedRequest::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(request_, nullptr);
}

/// If the watcher cannot be allocated, the request runs without cancellation.
void ParkedRequest::interrupted(Caller caller) noexcept {
  try {
    if (ends_by_ == EndsBy::any_signal) {
      answer_interrupted(caller);
    } else if (!end_if_stopped(caller)) {
      watch_.add(weak_from_this());
    }
  } catch (const std::exception&) {
    log_exception("cannot make a request interruptible");
  }
}

bool ParkedRequest::end_if_stopped(Caller caller) {
  pid_t client = 0;
  {
    const std::lock_guard lock(mutex_);
    if (request_ == nullptr) {
      return true;
    }
    client = fuse_req_ctx(request_)->pid;
  }
  if (ends_by_ == EndsBy::kill ? !is_killed(client) : !is_asked_to_stop(client)) {
    return false;
  }
  answer_interrupted(caller);
  return true;
}

void ParkedRequest::answer_interrupted(Caller caller) {
  fuse_req_t request = caller == Caller::anyone ? claim() : take();
  if (request == nullptr) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (work_ != nullptr) {
      work_->request_stop();
    }
  }
  fuse_reply_err(request, EINTR);
}

ParkedRequest::Work::Work(ParkedRequest& request, std::stop_source& stop) : request_(request) {
  const std::lock_guard lock(request_.mutex_);
  request_.work_ = &stop;
  if (request_.request_ == nullptr) {
    stop.request_stop();
  }
}

ParkedRequest::Work::~Work() {
  const std::lock_guard lock(request_.mutex_);
  request_.work_ = nullptr;
}

void ParkedRequest::refuse(int error) {
  if (fuse_req_t request = claim()) {
    fuse_reply_err(request, error);
  }
}

fuse_req_t ParkedRequest::claim() {
  fuse_req_t request = take();
  if (request != nullptr) {
    // Waits for a running interrupt function, so that this object may be destroyed; none starts afterwards.
    fuse_req_interrupt_func(request, nullptr, nullptr);
  }
  return request;
}

bool ParkedRequest::is_over() const {
  const std::lock_guard lock(mutex_);
  return request_ == nullptr;
}

InterruptWatch::~InterruptWatch() {
  stop();
}

void InterruptWatch::add(std::weak_ptr<ParkedRequest> request) {
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    return;
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  requests_.push_back(std::move(request));
  wake_.notify_one();
}

bool InterruptWatch::is_done(const std::weak_ptr<ParkedRequest>& weak) {
  const auto request = weak.lock();
  try {
    return !request || request->end_if_stopped();
  } catch (const std::exception&) {
    return false;  // it is checked again
  }
}

void InterruptWatch::keep(const std::vector<std::weak_ptr<ParkedRequest>>& looked_at) {
  try {
    requests_.insert(requests_.end(), looked_at.begin(), looked_at.end());
  } catch (const std::bad_alloc&) {
    log_exception("cannot keep requests interruptible");
  }
}

void InterruptWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (requests_.empty()) {
      wake_.wait(lock);
      continue;
    }
    std::vector<std::weak_ptr<ParkedRequest>> looked_at;
    looked_at.swap(requests_);
    lock.unlock();
    std::erase_if(looked_at, is_done);
    lock.lock();
    keep(looked_at);
    wake_.wait_for(lock, kLookAgain);
  }
}

void InterruptWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace arborfs
