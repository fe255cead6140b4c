// Reads sessions for the search index: cuts their texts into chunks, and adds what is new in a session that has grown.
// It reads them through Session objects of its own, so that no request waits for its thread, which may run seldom. Used
// by one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "core/search/index_writer.h"
#include "core/session/session.h"

namespace arborfs::search {

class SessionIndexer {
 public:
  /// Reading stops with `interrupted` once `stopping` is true; it outlives this.
  explicit SessionIndexer(const std::atomic<bool>& stopping) : stopping_(stopping) {}

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
  Result<Done> add(const Session& session, const std::shared_ptr<SessionStore>& store, IndexWriter& writer);

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
  Followed take(const Session& session, const std::shared_ptr<SessionStore>& store);
  void keep(Followed followed, const Reading& reading);
  static Result<Reading> read(const Followed& followed, const std::atomic<bool>& stopping);
  static std::vector<Chunk> still_right(const Followed& followed, Reading& reading, const IndexTable::Row& known);
  Result<void> end_chunk(Reading& reading, Ordinal last, IndexWriter& writer);
  Result<Outcome> add_entries(const IndexKey& key, Reading& reading, IndexWriter& writer);
  Result<Done> add_and_put(const IndexKey& key, Reading& reading, IndexWriter& writer);
  Result<bool> put_part(const IndexKey& key, const Reading& reading, IndexWriter& writer);
  const std::atomic<bool>& stopping_;
  std::atomic<std::uint32_t> generations_{0};
  std::vector<TermId> terms_;      // of the chunk that is being made
  std::uint64_t chunk_bytes_ = 0;  // of text in it
  std::list<Followed> followed_;   // the last one that changed first
};

}  // namespace arborfs::search
