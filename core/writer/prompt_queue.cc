#include "core/writer/prompt_queue.h"

#include <system_error>
#include <utility>

namespace arborfs {

PromptQueue::~PromptQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool PromptQueue::has_waiting() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

void PromptQueue::add(PromptHistory& history, Prompt prompt, bool sync) {
  if (!has_waiting()) {
    const auto done = history.add(prompt, {sync, limits_.at_once});
    if (done) {
      return;
    }
    if (done.error().code != Errc::busy) {
      report_(done.error());
      return;
    }
  }
  put_off({&history, std::move(prompt), sync, Clock::now()});
}

void PromptQueue::put_off(Waiting waiting) {
  const std::string& path = waiting.history->path();
  {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = bytes_ + waiting.prompt.text.size();
    bool can_wait = waiting_.size() < limits_.most && bytes <= limits_.most_bytes;
    if (can_wait && !thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error&) {
        can_wait = false;
      }
    }
    if (can_wait) {
      bytes_ = bytes;
      waiting_.push_back(std::move(waiting));
      changed_.notify_all();
      return;
    }
  }
  report_({Errc::busy, "the prompt history " + path + " is locked, and too many prompts wait for it"});
}

void PromptQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const bool was_ending = is_ending_;
    if (store_next(lock)) {
      continue;
    }
    if (was_ending) {
      drop_rest(lock);
      return;
    }
    changed_.wait_for(lock, limits_.each_try, [this] { return is_ending_; });
  }
}

/// Tries to store the first that waits. False if it has to wait on.
bool PromptQueue::store_next(std::unique_lock<std::mutex>& lock) {
  const Waiting& next = waiting_.front();  // only this thread removes one
  lock.unlock();
  const auto done = next.history->add(next.prompt, {next.sync, limits_.each_try});
  const bool is_locked = !done && done.error().code == Errc::busy;
  const bool waits_on = is_locked && Clock::now() - next.since < limits_.longest;
  if (!done && !waits_on) {
    report_(done.error());
  }
  lock.lock();
  if (!waits_on) {
    bytes_ -= waiting_.front().prompt.text.size();
    waiting_.pop_front();
  }
  return !waits_on;
}

void PromptQueue::drop_rest(std::unique_lock<std::mutex>& lock) {
  const std::size_t count = waiting_.size();
  const std::string path = waiting_.front().history->path();
  waiting_.clear();
  lock.unlock();
  report_({Errc::busy, "the prompt history " + path +
                           " is locked; prompts that waited for it and are not in it: " + std::to_string(count)});
}

}  // namespace arborfs
