// The search of one session. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/search/index_lookup.h"
#include "core/search/search.h"

namespace arborfs::search {

/// The result of a query for one session.
struct SessionFindings {
  std::vector<std::uint64_t> counts;  // of each wanted word
  std::uint64_t text_bytes = 0;       // of the texts that were searched
  Match match;                        // without its score
};

/// Nothing if the session does not match. Reads the texts that may contain the words according to `lookup`; all of them
/// if it is null, or does not have the session as it is now. Errors: those of reading the log; interrupted.
Result<std::optional<SessionFindings>> search_session(const SessionPtr& session, const Query& query,
                                                      const Options& options, const IndexLookup* lookup);

}  // namespace arborfs::search
