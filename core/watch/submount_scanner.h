// Scans the submounts of the stores (Catalog::submounts), each on its own thread: one that hangs delays only requests
// for files in it. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs {

class SubmountScanner {
 public:
  /// Threads at most; further ones are not scanned.
  static constexpr std::size_t kMost = 16;
  /// `catalog` outlives it.
  explicit SubmountScanner(Catalog& catalog) : catalog_(catalog) {}
  /// Waits for scans in progress.
  ~SubmountScanner();
  SubmountScanner(const SubmountScanner&) = delete;
  SubmountScanner& operator=(const SubmountScanner&) = delete;

  /// Requests a scan of each and returns at once. One whose scan is still in progress is skipped.
  void ask_for(const std::vector<LogFolder>& submounts);
  /// Waits until all requested scans are done, at most for `longest`.
  void wait(std::chrono::milliseconds longest);

 private:
  struct Folder {
    LogFolder place;
    bool is_wanted = false;   // guarded by mutex_
    bool is_at_work = false;  // guarded by mutex_
    std::thread thread;
  };
  void run(Folder& folder);
  bool start(Folder& folder);
  Catalog& catalog_;
  std::mutex mutex_;  // leaf
  std::condition_variable changed_;
  std::map<LogFolder, std::unique_ptr<Folder>> folders_;  // guarded by mutex_
  bool stopping_ = false;                                 // guarded by mutex_
};

}  // namespace arborfs
