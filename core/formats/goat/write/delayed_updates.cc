#include "core/formats/goat/write/delayed_updates.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace arborfs::goat {

DelayedUpdates::~DelayedUpdates() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  settle();
}

/// Nothing becomes due earlier by an addition: the thread has to be woken only if it waits for none.
void DelayedUpdates::add(const SessionPtr& session) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = pending_.empty();
    pending_[session->number()] = {session, Clock::now() + quiet_};
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { work(); });
      } catch (const std::system_error&) {
        return;  // settle() makes it
      }
    }
  }
  if (was_empty) {
    wake_.notify_all();
  }
}

void DelayedUpdates::settle() {
  const auto last_due = Clock::now() + quiet_;  // updates that others keep adding meanwhile are due later
  while (update_one(last_due)) {
  }
}

bool DelayedUpdates::update_one(Clock::time_point due) {
  const std::lock_guard turn(making_);
  SessionPtr session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(pending_.begin(), pending_.end(),
                                    [due](const auto& pending) { return pending.second.second <= due; });
    if (found == pending_.end()) {
      return false;
    }
    session = std::move(found->second.first);
    pending_.erase(found);
  }
  update_(session);
  return true;
}

void DelayedUpdates::work() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (pending_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto next = std::min_element(pending_.begin(), pending_.end(),
                                       [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    const auto due = next->second.second;
    if (due > Clock::now()) {
      wake_.wait_until(lock, due);
      continue;
    }
    lock.unlock();
    update_one(Clock::now());
    lock.lock();
  }
}

}  // namespace arborfs::goat
