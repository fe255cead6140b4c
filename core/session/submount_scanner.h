// Looks at folders of a store that are mounts of their own, each on a thread that waits for its folder alone: one that
// hangs keeps nobody waiting but those who want something in it. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs {

class SubmountScanner {
 public:
  /// Threads at most; folders beyond that many are not looked at.
  static constexpr std::size_t kMost = 16;
  /// `catalog` outlives it.
  explicit SubmountScanner(Catalog& catalog) : catalog_(catalog) {}
  /// Waits for looks that are under way.
  ~SubmountScanner();
  SubmountScanner(const SubmountScanner&) = delete;
  SubmountScanner& operator=(const SubmountScanner&) = delete;

  /// Asks for a look at each, and returns at once. A look that is still under way is the last one for its folder.
  void ask_for(const std::vector<std::string>& folders);
  /// Until all that was asked for is done, or so long.
  void wait(std::chrono::milliseconds longest);

 private:
  struct Folder {
    std::string name;
    bool is_wanted = false;   // guarded by mutex_
    bool is_at_work = false;  // guarded by mutex_
    std::thread thread;
  };
  void run(Folder& folder);
  bool start(Folder& folder);
  Catalog& catalog_;
  std::mutex mutex_;  // leaf
  std::condition_variable changed_;
  std::map<std::string, std::unique_ptr<Folder>> folders_;  // guarded by mutex_
  bool stopping_ = false;                                   // guarded by mutex_
};

}  // namespace arborfs
