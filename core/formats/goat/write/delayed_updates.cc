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

void DelayedUpdates::add(const SessionPtr& session) {
  {
    const std::lock_guard lock(mutex_);
    pending_[session->number()] = {session, Clock::now() + quiet_};
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { work(); });
      } catch (const std::system_error&) {
        return;  // settle() makes it
      }
    }
  }
  wake_.notify_all();
}

void DelayedUpdates::settle() {
  while (update_one(Clock::time_point::max())) {
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
