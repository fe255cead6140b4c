// Looks for a phrase in the chunks of the search index, on two threads.
#pragma once

#include "core/search/index/index_lookup.h"
#include "core/search/index/pair_filter.h"
#include "core/search/index/phrase_matcher.h"
#include "core/search/query/is_over.h"

namespace arborfs::search {

/// Connections to the index; the second one may be null.
struct IndexConnections {
  const sqlite::Connection* first = nullptr;
  const sqlite::Connection* second = nullptr;
};

/// The chunks that may have a phrase as whole terms, and those that may have it as parts of its first or last term.
struct PhraseChunks {
  ChunkSet exact;
  ChunkSet other;
};

/// The pairs of the phrase as whole terms, and as parts of its first or last term.
struct PhrasePairsOf {
  PhrasePairs exact;
  PhrasePairs other;
};

/// Removes chunks that lack a pair of the phrase. Errors: corrupt, busy, io; interrupted once it is over.
Result<void> remove_without_pairs(const IndexConnections& connections, std::uint64_t last_chunk,
                                  const PhrasePairsOf& pairs, const IsOver& is_over, PhraseChunks& chunks);

/// Adds the chunks that have the phrase; if `stops`, only the first of each session. Errors: corrupt, busy, io;
/// interrupted once it is over.
Result<void> scan_for_phrase(const IndexConnections& connections, const IndexTable& table, const PhraseChunks& chunks,
                             const PhraseMatcher& phrase, bool stops, const IsOver& is_over, WordChunks& found);

}  // namespace arborfs::search
