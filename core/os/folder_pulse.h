// Whether the file systems of some folders answer now. Thread-safe; mutex_ is a leaf.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/base/patient_ask.h"

namespace arborfs {

class FolderPulse {
 public:
  /// A file system that has not answered for so long hangs. One far away, or on a busy machine, needs a part of it.
  static constexpr std::chrono::milliseconds kPatience{400};
  static constexpr std::chrono::milliseconds kFresh{100};

  /// Those of `folders` whose file systems do not answer. Asks them all at once, and so waits for kPatience at most;
  /// not at all for one that has been silent for so long already. An error is an answer.
  std::set<std::string> silent(const std::set<std::string>& folders);

 private:
  using Beat = PatientAsk<bool>;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Beat>> beats_;  // of every folder that was ever asked; guarded by mutex_
};

}  // namespace arborfs
