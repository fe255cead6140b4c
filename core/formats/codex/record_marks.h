// How copies of a thread's records are known in the threads that were forked from it or that it started: their times
// are new (codex/FORMAT.md C5, F4). Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/formats/codex/thread_table.h"

namespace arborfs::codex {

/// The marks (RolloutRecord::mark) of all records of a thread.
using RecordMarks = std::unordered_set<std::uint64_t>;
using RecordMarksPtr = std::shared_ptr<const RecordMarks>;

/// Reads them when a log needs them; null if they cannot be read.
using ReadMarks = std::function<RecordMarksPtr()>;

/// The marks of the threads that were read last.
class MarkCache {
 public:
  /// Of the thread with these segments, as they are now; null if one cannot be read. `home` is Codex's folder.
  RecordMarksPtr of(const std::string& home, const std::vector<SegmentFile>& segments);

 private:
  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  std::list<std::pair<std::string, RecordMarksPtr>> known_;  // by the states of the segments; the last used is first
};

}  // namespace arborfs::codex
