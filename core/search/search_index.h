// The search index as searches use it. Without a usable index, or while one is made, searches read the texts. It never
// changes the index: the indexer makes a damaged one again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/search/index_database.h"
#include "core/search/query.h"
#include "core/search/touched.h"
#include "core/session/catalog_view.h"

namespace arborfs::search {

/// Chunks with rows in the index.
class ChunkSet {
 public:
  static ChunkSet all() { return ChunkSet(true); }
  ChunkSet() = default;
  void add(std::uint64_t id);
  void add(const ChunkSet& other);
  void keep_only(const ChunkSet& other);
  /// Changes nothing if this set has all chunks.
  void remove(const ChunkSet& other);
  [[nodiscard]] bool has(std::int64_t chunk) const {
    const auto id = static_cast<std::uint64_t>(chunk);
    return is_all_ || (id / 64 < bits_.size() && (bits_[id / 64] >> (id & 63U) & 1U) != 0);
  }
  /// How many chunks it has; the greatest number if it has all.
  [[nodiscard]] std::size_t count() const;
  /// How much memory it takes.
  [[nodiscard]] std::size_t bytes() const { return bits_.capacity() * sizeof(std::uint64_t); }

 private:
  explicit ChunkSet(bool is_all) : is_all_(is_all) {}
  bool is_all_ = false;
  std::vector<std::uint64_t> bits_;
};

/// Where a word occurs. Chunks that are in no set lack it, unless `is_partial`.
struct WordChunks {
  ChunkSet has;             // the word surely
  ChunkSet may;             // have it: only their texts can tell
  bool is_partial = false;  // chunks that are in no set may have it, but only in sessions that have it surely
  [[nodiscard]] bool surely_in(const Chunk& chunk) const { return chunk.id != Chunk::kUnread && has.has(chunk.id); }
  [[nodiscard]] bool perhaps_in(const Chunk& chunk) const {
    return chunk.id == Chunk::kUnread || has.has(chunk.id) || may.has(chunk.id);
  }
};

/// Which chunks have a term. Those of frequent terms, which the full-text index gives row by row, are kept until the
/// index has more chunks: no chunk ever changes.
class TermChunks {
 public:
  /// `connection` must outlive it.
  static Result<TermChunks> make(const sqlite::Connection& connection);
  /// `last_chunk` is the last one of the index. Errors: corrupt, busy, io.
  Result<ChunkSet> of(TermId term, std::uint64_t last_chunk);

 private:
  explicit TermChunks(sqlite::Statement rows) : rows_(std::move(rows)) {}
  Result<ChunkSet> look_up(TermId term, std::uint64_t last_chunk);
  sqlite::Statement rows_;
  std::unordered_map<TermId, ChunkSet> kept_;
  std::uint64_t last_chunk_ = 0;  // when these were looked up
  std::size_t bytes_ = 0;         // of these
};

/// Where the words of a query occur.
struct QueryChunks {
  std::vector<WordChunks> wanted;
  std::vector<WordChunks> unwanted;
  std::optional<WordChunks> tool;
  bool filters_entries = false;  // so that no chunk alone tells whether a session matches
};

/// What the index says about one session and the words of a query.
struct IndexedAnswer {
  const IndexedSession* indexed = nullptr;  // as long as the IndexLookup
  bool may_match = true;                    // false: the session does not match
  std::vector<double> counts;      // about how many chunks have each wanted word; 0 if it is not known whether one has
  bool may_have_unwanted = false;  // its texts must be read to know
  /// True if it matches without the filters on entries.
  [[nodiscard]] bool is_sure() const;
};

/// What the index says about the words of a query, at one moment. Immutable; any thread.
class IndexLookup {
 public:
  IndexLookup(std::shared_ptr<const IndexTable::Rows> rows, QueryChunks chunks)
      : rows_(std::move(rows)), chunks_(std::move(chunks)) {}
  /// Nothing if the index does not have the session in this state: then its texts are to be read.
  [[nodiscard]] std::optional<IndexedAnswer> answer_for(const Session& session, const FileStat& state) const;
  /// The chunks that may have a wanted word, those with most of them first.
  [[nodiscard]] std::vector<Chunk> chunks_with_words(const IndexedAnswer& answer) const;
  /// True if other chunks may have a wanted word too.
  [[nodiscard]] bool leaves_out_chunks(const IndexedAnswer& answer) const;
  /// The chunks that may have what the answer leaves open: an unwanted word, or a wanted one that no chunk surely has;
  /// with filters on entries, any wanted word.
  [[nodiscard]] std::vector<Chunk> chunks_to_check(const IndexedAnswer& answer) const;

 private:
  [[nodiscard]] bool may_call(const Chunk& chunk) const { return !chunks_.tool || chunks_.tool->perhaps_in(chunk); }
  const std::shared_ptr<const IndexTable::Rows> rows_;
  const QueryChunks chunks_;
};

/// The rows of the sessions that a view shows, by the sessions' numbers; null for one that is not in the index. A
/// search for a path looks at each of them, which takes much longer by their keys.
struct ShownRows {
  std::uint64_t view = 0;    // CatalogView::version
  std::int64_t change = -1;  // IndexTable::last_change
  std::vector<IndexTable::Row> rows;
};

/// The keys of the sessions that a view shows, in its order.
using ShownKeys = std::vector<std::pair<std::uint32_t, IndexKey>>;

/// Which sessions touched a file, as the index says, at one moment. Immutable; any thread.
class TouchedLookup {
 public:
  using Touched = std::unordered_set<const IndexedSession*>;
  TouchedLookup(std::shared_ptr<const ShownRows> shown, Touched touched)
      : shown_(std::move(shown)), touched_(std::move(touched)) {}
  /// False if the rows must be found by their keys first; then it knows nothing.
  [[nodiscard]] bool has_rows() const { return shown_ != nullptr; }
  /// Nothing if the index does not have the files of the session, which the view shows, in this state.
  [[nodiscard]] std::optional<bool> has_touched(const Session& session, const FileStat& state) const;

 private:
  const std::shared_ptr<const ShownRows> shown_;
  const Touched touched_;
};

/// Thread-safe; mutex_ is a leaf, held while the index is read.
class SearchIndex {
 public:
  /// `folder` is that of the cache, and need not exist. Calls `on_damage` (may be empty) when a search finds that the
  /// index in it is damaged, on the thread of that search.
  explicit SearchIndex(std::string folder, std::function<void()> on_damage = {})
      : folder_(std::move(folder)), on_damage_(std::move(on_damage)) {}
  /// Null if the index cannot be used, or would save nothing, or once it is over.
  std::shared_ptr<const IndexLookup> look_up(const Query& query, const IsOver& is_over);
  /// Null if the index cannot be used.
  std::shared_ptr<const TouchedLookup> look_up(const PathFilter& filter, const CatalogView& view);

 private:
  template <class Found>
  std::shared_ptr<const Found> found_by(const std::function<Result<std::shared_ptr<const Found>>()>& read);
  Result<void> open();
  void close();
  Result<std::shared_ptr<const IndexLookup>> read(const Query& query, const IsOver& is_over);
  Result<std::shared_ptr<const TouchedLookup>> read(const PathFilter& filter, const CatalogView& view,
                                                    const ShownKeys* keys);
  const std::string folder_;
  const std::function<void()> on_damage_;
  std::mutex mutex_;
  std::optional<IndexDatabase> database_;   // guarded by mutex_
  std::optional<IndexDatabase> second_;     // the same, for a second thread; guarded by mutex_
  std::optional<TermChunks> terms_;         // of database_; guarded by mutex_
  IndexTable table_;                        // the same
  std::shared_ptr<const ShownRows> shown_;  // of table_; null if they are not known; the same
};

}  // namespace arborfs::search
