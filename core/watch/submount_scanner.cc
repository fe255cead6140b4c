#include "core/watch/submount_scanner.h"

#include <algorithm>
#include <exception>

#include "core/base/exception_log.h"

namespace arborfs {

SubmountScanner::~SubmountScanner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& [name, folder] : folders_) {
    folder->thread.join();
  }
}

void SubmountScanner::ask_for(const std::vector<LogFolder>& submounts) {
  const std::lock_guard lock(mutex_);
  for (const auto& place : submounts) {
    auto found = folders_.find(place);
    if (found == folders_.end() && folders_.size() < kMost) {
      auto folder = std::make_unique<Folder>();
      folder->place = place;
      if (start(*folder)) {
        found = folders_.emplace(place, std::move(folder)).first;
      }
    }
    if (found != folders_.end() && !found->second->is_at_work) {
      found->second->is_wanted = true;
    }
  }
  changed_.notify_all();
}

bool SubmountScanner::start(Folder& folder) {
  try {
    folder.thread = std::thread([this, &folder] { run(folder); });
    return true;
  } catch (const std::exception&) {
    log_exception("cannot start to poll a folder that is a mount");
    return false;
  }
}

void SubmountScanner::wait(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [this] {
    return std::none_of(folders_.begin(), folders_.end(),
                        [](const auto& row) { return row.second->is_wanted || row.second->is_at_work; });
  });
}

void SubmountScanner::run(Folder& folder) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || folder.is_wanted; });
    if (stopping_) {
      return;
    }
    folder.is_wanted = false;
    folder.is_at_work = true;
    lock.unlock();
    try {
      catalog_.rescan_submount(folder.place);
    } catch (const std::exception&) {
      log_exception("cannot poll a folder that is a mount");
    }
    lock.lock();
    folder.is_at_work = false;
    changed_.notify_all();
  }
}

}  // namespace arborfs
