// Codex's threads as a store: each is a session, whatever files its segments are in. Its sessions have the places
// `sessions/<thread>.jsonl`, which are not files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/formats/codex/segments_log.h"
#include "core/formats/codex/thread_facts.h"
#include "core/formats/codex/thread_table.h"
#include "core/store/store.h"

namespace arborfs::codex {

/// The folder of the lock files of threads (codex/FORMAT.md A5).
inline constexpr std::string_view kLocksFolder = "thread-writer-locks";

/// A thread as it is on the disk now.
struct ThreadNow {
  std::vector<SegmentFile> own;          // its segments, in the order in which they were begun
  SegmentFile active;                    // the one of them with which Codex goes on
  RolloutKind kind = RolloutKind::none;  // of that one
  ThreadRow row;                         // in the database
};

/// What a change of a thread needs to know of its store. Thread-safe.
class ThreadStore : public arborfs::Store {
 public:
  /// Looks at the files and the database now. Errors: not_found; those of reading the active segment's first line.
  [[nodiscard]] virtual Result<ThreadNow> thread_now(const std::string& thread) const = 0;
  /// The other threads whose history begins in a segment of this one (codex/FORMAT.md C2), by their ids, as the folders
  /// were listed last. Reads the first lines of all segments that it has not read yet.
  [[nodiscard]] virtual std::vector<std::string> based_on(const std::string& thread) const = 0;
  /// The next look at a thread reads the database again.
  virtual void forget_rows() const = 0;
  /// The next look at a thread lists the folders again.
  virtual void forget_files() const = 0;

 protected:
  using arborfs::Store::Store;
};

}  // namespace arborfs::codex
