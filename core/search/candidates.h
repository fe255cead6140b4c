// The entries of one session that a search reads, and the test of their texts. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/search/index/indexed_session.h"
#include "core/search/query/query.h"
#include "core/session/session.h"

namespace arborfs::search {

/// An entry, copied so that no lock is held while its text is read.
struct Candidate {
  Ordinal ordinal = kNoEntry;
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct Candidates {
  std::shared_ptr<const LogSource> log;
  std::vector<Candidate> entries;
  std::shared_ptr<const std::vector<IndexedEntry>>
      indexed;  // all entries of the session, with names in its IndexedSession; null without the search index
  std::uint32_t generation = 0;  // Session::Guard::generation, without the search index
};

/// The entries of the session's current state that pass the query's filters, in their order. `chunks`, if not null, are
/// those of `indexed` to read: entries in others are left out if the session still is as it was indexed. Errors: those
/// of reading the log.
Result<Candidates> current_entries(const SessionPtr& session, const Query& query, const IndexedSession* indexed,
                                   const std::vector<Chunk>* chunks, const std::atomic<bool>* cancelled);

/// The entries of the chunks, in the order of these, without the index of the log. Nothing if the session is not as it
/// was indexed any more.
std::optional<Candidates> indexed_entries(const Session& session, const IndexedSession& indexed,
                                          const std::vector<Chunk>& chunks);

/// Errors: stale, io.
Result<std::string> read_candidate(const Session& session, const Candidates& candidates, const Candidate& one);

/// True if the folded text has a code block whose first line is the tool's name: how a text shows a tool call.
bool calls_tool(std::string_view text, std::string_view tool);

}  // namespace arborfs::search
