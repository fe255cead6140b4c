// Changes of the store in order: the one stream behind the kernel's invalidation and the file `events`.
// Thread-safe. Publishing never blocks on readers: the last kKept changes are kept, and a slow reader learns how many
// it missed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

struct Change {
  enum class Kind : std::uint8_t {
    session_added,
    session_removed,
    session_renamed,    // its folder has another name, or that of a session above it has
    session_appended,   // entries first..last are new, all earlier ones are unchanged
    session_revised,    // entries from `first` on may differ or be gone, all earlier ones are unchanged
    session_rewritten,  // a new generation: earlier entries may differ
    session_touched,    // head, title, raw bytes or state changed, but no entry
    catalog_changed,    // projects, terminals or recent changed, but no single session
  };
  Kind kind = Kind::session_touched;
  std::uint32_t session = 0;         // Session::number, 0 for catalog_changed
  std::uint32_t old_generation = 0;  // before a rewrite
  Ordinal first = kNoEntry;
  Ordinal last = kNoEntry;
  std::string session_id;
  std::string path;              // CatalogView::path_of
  std::string path_before = {};  // of session_renamed
  std::uint32_t starter = 0;     // of session_added, session_removed and session_renamed: ShownAt::starter
  std::uint64_t sequence = 0;    // set by publish, from 1
  std::int64_t time_ms = 0;      // set by publish
};

/// One line of `events`, newline included: {"seq":1,"time":"...","event":"appended","session":"...","path":"...",...}.
std::string change_line(const Change& change);

class ChangeFeed {
 public:
  static constexpr std::size_t kKept = 4096;

  void publish(Change change);
  /// Changes after `sequence`, at most `limit`. `missed` receives how many of them had been dropped already.
  [[nodiscard]] std::vector<Change> after(std::uint64_t sequence, std::size_t limit,
                                          std::uint64_t* missed = nullptr) const;
  [[nodiscard]] std::uint64_t last_sequence() const;
  /// Blocks until there is a change after `sequence` or close() is called; false if closed.
  bool wait(std::uint64_t sequence) const;
  /// The same, for at most so long.
  bool wait(std::uint64_t sequence, std::chrono::milliseconds most) const;
  /// Called after each publish, on the publishing thread, without locks held; for parked reads. Set it once, early.
  void on_publish(std::function<void()> callback);
  void close();

  /// How long what was made of all sessions serves at most: not everything that it shows is published.
  static constexpr std::chrono::seconds kFresh{1};
  /// True if what was `made` from the state at `sequence` may still serve: nothing was published since.
  [[nodiscard]] bool is_fresh(std::uint64_t sequence, std::chrono::steady_clock::time_point made) const {
    return std::chrono::steady_clock::now() - made < kFresh && sequence == last_sequence();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Change> kept_;     // guarded by mutex_
  std::uint64_t sequence_ = 0;  // guarded by mutex_
  bool closed_ = false;         // guarded by mutex_
  std::function<void()> callback_;
};

}  // namespace arborfs
