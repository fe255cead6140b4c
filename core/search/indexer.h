// Keeps the search index up to date: a thread that runs when the machine is idle, from the first search on, so that
// a mount that is never searched has no index. Errors of the index never reach a search: an index that cannot be
// used is put aside and made again, and on a full disk indexing ends. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/search/index_writer.h"
#include "core/search/session_indexer.h"
#include "core/session/catalog.h"

namespace arborfs::search {

class Indexer {
 public:
  struct Settings {
    std::string folder;  // of the cache
    // An index that another program keeps locked for longer, without a change in it, is put aside.
    std::chrono::milliseconds lock_patience{30'000};
    std::chrono::milliseconds look_again{1000};  // between two passes over the sessions
  };
  /// The catalog outlives it.
  Indexer(Catalog& catalog, Settings settings);
  /// Stops and joins.
  ~Indexer();
  Indexer(const Indexer&) = delete;
  Indexer& operator=(const Indexer&) = delete;

  /// A search was made: indexes what has changed, and follows the logs for the next kFollowing. Cheap.
  void note_search();
  /// A search found that the index is damaged: makes it again. Cheap.
  void note_damage();
  /// Waits until the index has all sessions that can be read, as they are now; false if indexing has ended.
  bool wait_until_done();

  static constexpr std::chrono::minutes kFollowing{10};

 private:
  enum class Next : std::uint8_t { done, look_again, end };
  void run();
  Next pass();
  Result<bool> add_all();
  Result<void> add(const Session& session, bool& is_complete);
  Result<void> remove_gone(const std::vector<SessionPtr>& sessions, const std::set<std::string>& present);
  Result<void> open();
  Result<bool> remove_if_mostly_garbage();
  Next recover(const Error& error);
  bool is_lock_tolerable();
  bool wait(Next next);
  /// When the index was found to be locked, and what was the last in it then.
  struct Locked {
    std::chrono::steady_clock::time_point time;
    std::uint64_t last_chunk = 0;
    std::int64_t last_change = 0;
  };
  Catalog& catalog_;
  const Settings settings_;
  std::atomic<bool> stopping_{false};

  // Of the thread.
  SessionIndexer sessions_;
  std::unique_ptr<IndexWriter> writer_;
  std::unordered_map<std::uint32_t, FileStat> unreadable_;  // by the session's number: its state then
  std::uint64_t sequence_ = 0;                              // of the change feed before the last pass
  std::optional<Locked> locked_;                            // since the index is locked
  Hanging hanging_;                                         // at the beginning of the pass
  unsigned put_aside_ = 0;                                  // how often

  std::mutex mutex_;  // a leaf; guards all that follows
  std::condition_variable woken_;
  std::thread thread_;
  bool has_ended_ = false;
  bool is_damaged_ = false;     // a search says so
  std::uint64_t asked_ = 0;     // searches
  std::uint64_t answered_ = 0;  // those before the last complete pass
  std::chrono::steady_clock::time_point last_search_;
};

}  // namespace arborfs::search
