#include "core/search/index_lookup.h"

#include <algorithm>

namespace arborfs::search {

bool TextsToRead::has(Ordinal entry) const {
  const auto after = std::upper_bound(chunks.begin(), chunks.end(), entry,
                                      [](Ordinal ordinal, const Chunk& chunk) { return ordinal < chunk.first; });
  return after != chunks.begin() && entry <= std::prev(after)->last;
}

std::optional<TextsToRead> IndexLookup::texts_of(const Session& session, const FileStat& state) const {
  const auto found = rows_->find(key_of(session));
  if (found == rows_->end() || !is_state_of(*found->second, state)) {
    return std::nullopt;
  }
  TextsToRead texts;
  texts.indexed = found->second;
  std::vector<bool> occurs(chunks_.wanted.size());
  bool may_call_tool = !chunks_.tool;
  for (const Chunk& chunk : texts.indexed->chunks) {
    const auto has = [&](const ChunkSet& set) { return set.has(chunk.id); };
    bool is_needed = std::any_of(chunks_.unwanted.begin(), chunks_.unwanted.end(), has);
    const bool may_count = !chunks_.tool || has(*chunks_.tool);
    for (std::size_t i = 0; may_count && i < occurs.size(); ++i) {
      if (has(chunks_.wanted[i])) {
        occurs[i] = is_needed = true;
      }
    }
    if (chunks_.tool && may_count) {
      may_call_tool = is_needed = true;  // each call counts in the length of the session's texts
    }
    if (is_needed) {
      texts.chunks.push_back(chunk);
    }
  }
  texts.may_match = may_call_tool && std::all_of(occurs.begin(), occurs.end(), [](bool one) { return one; });
  return texts;
}

bool can_use_index(const Query& query) {
  return !query.wanted.empty() || !query.tool.empty() || !query.filters_entries();
}

}  // namespace arborfs::search
