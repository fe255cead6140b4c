// The search of one session. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/search/search.h"

namespace arborfs::search {

/// The result of a query for one session.
struct SessionFindings {
  std::vector<std::uint64_t> counts;  // of each wanted word
  std::uint64_t text_bytes = 0;       // of the texts that were searched
  Match match;                        // without its score
};

/// Nothing if the session does not match. Reads its log. Errors: those of reading it; interrupted.
Result<std::optional<SessionFindings>> search_session(const SessionPtr& session, const Query& query,
                                                      const Options& options);

}  // namespace arborfs::search
