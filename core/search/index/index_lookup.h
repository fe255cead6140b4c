// What the search index says about the words of a query, at one moment. Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/search/index/chunk_set.h"
#include "core/search/index/index_table.h"
#include "core/search/query/query.h"

namespace arborfs::search {

/// Where a word occurs. Chunks that are in no set lack it, unless `is_partial`.
struct WordChunks {
  ChunkSet has;             // the word surely
  ChunkSet may;             // have it: only their texts can tell
  ChunkSet later;           // the same, but an earlier chunk of the session has it surely
  bool is_partial = false;  // chunks that are in no set may have it, but only in sessions that have it surely
  [[nodiscard]] bool surely_in(const Chunk& chunk) const { return chunk.id != Chunk::kUnread && has.has(chunk.id); }
  [[nodiscard]] bool perhaps_in(const Chunk& chunk) const {
    return chunk.id == Chunk::kUnread || has.has(chunk.id) || may.has(chunk.id) || later.has(chunk.id);
  }
};

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

/// True if an index can save reading texts for the query.
bool can_use_index(const Query& query);

}  // namespace arborfs::search
