// Shows the progress of a verb that takes longer than a second, if standard error is a terminal.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

/// While the object exists, one line on `io.err` shows the progress, from the first second on. The destructor removes
/// the line. step() may be called from any thread, done() from one. Nothing else may write to `io.err` before done().
class Progress {
 public:
  Progress(Terminal& io, std::string doing, std::size_t total = 0,
           std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~Progress() { done(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step();
  void done();

 private:
  void show();
  void run(std::chrono::milliseconds patience);

  Terminal& io_;
  const std::string doing_;
  const std::size_t total_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t count_ = 0;  // guarded by mutex_
  bool done_ = false;      // guarded by mutex_
  bool shown_ = false;     // guarded by mutex_
  std::thread thread_;
};

}  // namespace arborfs::cli
