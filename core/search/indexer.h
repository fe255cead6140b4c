// Keeps the search index up to date: a thread that runs when the machine is idle, from the first search on, so that
// a mount that is never searched has no index. Errors of the index never reach a search: an index that cannot be
// used is put aside and made again, and on a full disk indexing ends. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/search/index_writer.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs::search {

/// Reads sessions for the search index: cuts their texts into chunks, and adds what is new in a session that has grown.
/// It reads them through Session objects of its own, so that no request waits for its thread, which may run seldom.
/// Used by one thread, whose Cancellation ends reading with `interrupted`.
class SessionIndexer {
 public:
  enum class Outcome : std::uint8_t {
    done,       // the index has the session as it is now
    too_young,  // it was written just now, or another process indexes it: what was read might not last
  };
  /// Reads a session of `store`, which is the session's, and adds it to the index; begins a batch if there is none.
  /// Within a long session it commits full batches with what was indexed so far, which the next call continues, in any
  /// process. The errors of reading a session are `unreadable`, as is a session of too many entries; all others are
  /// those of the writer, which are known before the session is read if another process writes.
  struct Done {
    Outcome outcome = Outcome::done;
    bool is_unreadable = false;
  };
  Result<Done> add(const Session& session, const std::shared_ptr<Store>& store, IndexWriter& writer);

 private:
  /// A session that was written lately, and that may grow.
  struct Followed {
    std::uint32_t number = 0;
    std::shared_ptr<Session> session;
    std::unique_ptr<Session::Shared> shared;
    FileStat state;                // when it was indexed
    std::uint32_t generation = 0;  // the same
    Ordinal settled = kNoEntry;    // the same
  };
  struct Reading;
  Followed take(const Session& session, const std::shared_ptr<Store>& store);
  void keep(Followed followed, const Reading& reading);
  static Result<Reading> read(const Followed& followed);
  static std::vector<Chunk> still_right(const Followed& followed, Reading& reading, const IndexTable::Row& known);
  Result<void> end_chunk(Reading& reading, Ordinal last, IndexWriter& writer);
  Result<Outcome> add_entries(const IndexKey& key, Reading& reading, IndexWriter& writer);
  Result<Done> add_and_put(const Session& session, const IndexKey& key, Reading& reading, IndexWriter& writer);
  Result<bool> put_part(const IndexKey& key, const Reading& reading, IndexWriter& writer);
  std::atomic<std::uint32_t> generations_{0};
  std::vector<TermId> terms_;      // of the chunk that is being made
  std::uint64_t chunk_bytes_ = 0;  // of text in it
  std::list<Followed> followed_;   // the last one that changed first
};

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
  bool is_as_left();
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
  std::stop_source stop_;

  // Of the thread.
  SessionIndexer sessions_;
  std::unique_ptr<IndexWriter> writer_;
  std::unordered_map<std::uint32_t, FileStat> unreadable_;  // by the session's number: its state then
  std::uint64_t sequence_ = 0;                              // of the change feed before the last pass
  std::optional<std::int64_t> left_;                        // IndexTable::last_change after the last complete pass
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
