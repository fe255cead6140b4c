#include "core/search/candidates.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"
#include "core/search/query/fold.h"

namespace arborfs::search {

namespace {

bool passes(const LogIndex& index, Ordinal ordinal, const Query& query) {
  const std::int64_t time = index.entry(ordinal).timestamp_ms;
  if ((query.after_ms || query.before_ms) && time == Entry::kNoTime) {
    return false;
  }
  return (query.role.empty() || folded(index.name(ordinal)) == folded(query.role)) &&
         (!query.after_ms || time >= *query.after_ms) && (!query.before_ms || time < *query.before_ms);
}

std::vector<Ordinal> labelled(const LogIndex& index, const std::string& label) {
  std::vector<Ordinal> entries;
  for (const Label& one : index.labels()) {
    if (one.text == label) {
      entries.push_back(index.find(one.target));
    }
  }
  return entries;
}

bool is_in(const std::vector<Chunk>& chunks, Ordinal entry) {
  return std::any_of(chunks.begin(), chunks.end(),
                     [&](const Chunk& chunk) { return chunk.first <= entry && entry <= chunk.last; });
}

}  // namespace

Result<Candidates> current_entries(const SessionPtr& session, const Query& query, const IndexedSession* indexed,
                                   const std::vector<Chunk>* chunks, const std::atomic<bool>* cancelled) {
  const Session::Use use(session);
  RETURN_IF_ERROR(session->refresh(Depth::index, cancelled));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  const LogIndex& index = guard.index();
  const bool is_indexed = indexed != nullptr && is_state_of(*indexed, guard.stat()) && indexed->count() == index.size();
  const auto chosen = query.label.empty() ? std::vector<Ordinal>() : labelled(index, query.label);
  Candidates found{guard.log(), {}, nullptr, guard.generation()};
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    const bool has_label = query.label.empty() || std::find(chosen.begin(), chosen.end(), ordinal) != chosen.end();
    if (has_label && passes(index, ordinal, query) && (!is_indexed || is_in(*chunks, ordinal))) {
      const Entry& entry = index.entry(ordinal);
      found.entries.push_back({ordinal, entry.type, entry.offset, index.length(ordinal)});
    }
  }
  return found;
}

std::optional<Candidates> indexed_entries(const Session& session, const IndexedSession& indexed,
                                          const std::vector<Chunk>& chunks) {
  auto log = session.store().open(session.place());
  auto entries = indexed.entries();
  if (!log || !entries || !is_state_of(indexed, (*log)->opened())) {
    return std::nullopt;
  }
  Candidates found{std::move(*log), {}, std::make_shared<const std::vector<IndexedEntry>>(std::move(*entries))};
  for (const Chunk& chunk : chunks) {
    for (Ordinal ordinal = chunk.first; ordinal <= chunk.last; ++ordinal) {
      const IndexedEntry& entry = (*found.indexed)[ordinal - 1];
      found.entries.push_back({ordinal, entry.type, entry.offset, entry.length});
    }
  }
  return found;
}

Result<std::string> read_candidate(const Session& session, const Candidates& candidates, const Candidate& one) {
  return read_text(*session.format().renderer, *candidates.log, one.type, one.offset, one.length);
}

bool calls_tool(std::string_view text, std::string_view tool) {
  for (std::size_t at = text.find("```"); at != std::string_view::npos; at = text.find("```", at + 1)) {
    const std::size_t line = text.find('\n', at);
    if (line == std::string_view::npos) {
      return false;
    }
    const std::string_view rest = text.substr(line + 1);
    if (rest.starts_with(tool) && (rest.size() == tool.size() || rest[tool.size()] == '\n')) {
      return true;
    }
  }
  return false;
}

}  // namespace arborfs::search
