// The search of one session: whether it matches, and which entries do. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/search/search.h"
#include "core/search/search_index.h"

namespace arborfs::search {

/// That a session matches, and how well.
struct SessionFindings {
  std::vector<double> counts;           // of each wanted word: about how many chunks (kChunkBytes) have it
  double length = 0;                    // of the session's texts, in chunks
  std::optional<IndexedAnswer> answer;  // of the search index
};

/// Nothing if the session does not match. The index answers for a session that is as it was indexed; else texts are
/// read until the answer is known. `lookup` may be null. Errors: those of reading the log; interrupted.
Result<std::optional<SessionFindings>> search_session(const SessionPtr& session, const Query& query,
                                                      const Options& options, const IndexLookup* lookup);

/// Adds the entries of the session of `match` that match, those with the most words first among equals in their order:
/// at most Options::most_hits. It reads no more than it needs for that, and of a long session only a part.
void find_hits(const SessionFindings& findings, const Query& query, const Options& options, const IndexLookup* lookup,
               Match& match);

}  // namespace arborfs::search
