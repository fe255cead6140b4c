#include "core/base/hanging_work.h"

#include <iterator>

namespace arborfs {

/// False if the work was given up.
bool LeftBehind::await(Task& task, const std::function<bool()>& goes_on) {
  std::unique_lock lock(task.mutex);
  while (!task.ended.wait_for(lock, kLook, [&task] { return task.has_ended; })) {
    lock.unlock();
    if (!goes_on()) {
      return false;
    }
    lock.lock();
  }
  return true;
}

void LeftBehind::leave(std::shared_ptr<Task> task) {
  task->stop.request_stop();
  std::list<std::shared_ptr<Task>> over;
  const std::lock_guard lock(mutex_);
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    const auto next = std::next(at);
    const std::lock_guard ended((*at)->mutex);
    if ((*at)->has_ended) {
      over.splice(over.end(), tasks_, at);
    }
    at = next;
  }
  tasks_.push_back(std::move(task));
  for (const auto& one : over) {
    one->thread.join();
  }
}

void LeftBehind::wait() {
  std::list<std::shared_ptr<Task>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) {
    task->thread.join();
  }
}

}  // namespace arborfs
