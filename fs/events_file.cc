#include "fs/events_file.h"

#include <new>
#include <utility>

#include "core/base/thrown.h"

namespace arborfs {

namespace {

constexpr std::size_t kBatch = 64;

/// Who cannot be answered for want of memory is woken with the next change.
bool is_woken(EventsFile::Waiter& waiter, bool closing) {
  try {
    return waiter.is_over() || waiter.wake(closing);
  } catch (const std::bad_alloc&) {
    log_thrown("a reader of events cannot be woken");
    return waiter.is_over();
  }
}

}  // namespace

EventsFile::~EventsFile() {
  close();
}

std::shared_ptr<EventReader> EventsFile::open() {
  const std::uint64_t cursor = feed_.last_sequence();
  const std::lock_guard lock(mutex_);
  if (!closed_ && !thread_.joinable()) {
    thread_ = std::thread([this, cursor] { run(cursor); });
  }
  return std::make_shared<EventReader>(cursor);
}

std::string EventsFile::take(EventReader& reader, std::size_t size) {
  const std::lock_guard lock(reader.mutex_);
  std::string& text = reader.unread_;
  while (text.size() < size) {
    std::uint64_t missed = 0;
    const auto changes = feed_.after(reader.cursor_, kBatch, &missed);
    if (missed != 0) {
      text += "{\"event\":\"missed\",\"count\":" + std::to_string(missed) + "}\n";
    }
    for (const auto& change : changes) {
      text += change_line(change);
      reader.cursor_ = change.sequence;
    }
    if (changes.empty()) {
      break;
    }
  }
  std::string taken = text.substr(0, size);
  text.erase(0, taken.size());
  return taken;
}

bool EventsFile::has_some(EventReader& reader) const {
  const std::lock_guard lock(reader.mutex_);
  return !reader.unread_.empty() || feed_.last_sequence() > reader.cursor_;
}

void EventsFile::park(std::shared_ptr<Waiter> waiter) {
  bool closing = false;
  {
    const std::lock_guard lock(mutex_);
    closing = closed_;
    if (!closing) {
      std::erase_if(waiters_, [](const auto& other) { return other->is_over(); });
      waiters_.push_back(waiter);
    }
  }
  // What was published before it was parked would not wake it.
  if (waiter->wake(closing)) {
    const std::lock_guard lock(mutex_);
    std::erase(waiters_, waiter);
  }
}

void EventsFile::wake_all(bool closing) {
  std::vector<std::shared_ptr<Waiter>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiters_);
  }
  std::erase_if(waiting, [&](const auto& waiter) { return is_woken(*waiter, closing); });
  const std::lock_guard lock(mutex_);
  waiting.swap(waiters_);
  try {
    waiters_.insert(waiters_.end(), waiting.begin(), waiting.end());
  } catch (const std::bad_alloc&) {
    log_thrown("readers of events that came just now are not woken");
  }
}

void EventsFile::run(std::uint64_t seen) {
  while (feed_.wait(seen)) {
    seen = feed_.last_sequence();
    wake_all(false);
  }
}

void EventsFile::hang_up() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  wake_all(true);
}

void EventsFile::close() {
  hang_up();
  if (thread_.joinable()) {
    thread_.join();
  }
  wake_all(true);  // of those that the thread held in its hands
}

}  // namespace arborfs
