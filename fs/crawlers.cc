#include "fs/crawlers.h"

#include <fstream>
#include <string>

namespace arborfs {

namespace {

/// The process of a thread; the thread itself when /proc does not tell.
pid_t process_of(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;) {
    if (word == "Tgid:") {
      pid_t process = thread;
      status >> process;
      return process;
    }
  }
  return thread;
}

}  // namespace

void Crawlers::listed_root(pid_t thread) {
  const pid_t process = process_of(thread);
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(listed_, [&](const auto& row) { return now - row.second > kJust; });
  listed_[process] = now;
}

bool Crawlers::is_crawling(pid_t thread) const {
  const pid_t process = process_of(thread);
  const std::lock_guard lock(mutex_);
  const auto found = listed_.find(process);
  return found != listed_.end() && Clock::now() - found->second <= kJust;
}

}  // namespace arborfs
