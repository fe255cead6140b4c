#include "core/search/index/index_lookup.h"

#include <algorithm>

namespace arborfs::search {

bool IndexedAnswer::is_sure() const {
  return may_match && !may_have_unwanted && std::all_of(counts.begin(), counts.end(), [](auto n) { return n > 0; });
}

namespace {

/// How many chunks surely have a word. If only the first one is known, as many as if the others had it as often.
double count_in(const std::vector<Chunk>& chunks, const WordChunks& word) {
  std::size_t count = 0;
  std::size_t first = 0;
  bool has_later = false;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (word.surely_in(chunks[i])) {
      first = count == 0 ? i : first;
      ++count;
    }
    has_later = has_later || word.later.has(chunks[i].id);
  }
  return count == 1 && has_later ? static_cast<double>(chunks.size()) / static_cast<double>(first + 1)
                                 : static_cast<double>(count);
}

}  // namespace

std::optional<IndexedAnswer> IndexLookup::answer_for(const Session& session, const FileStat& state) const {
  const auto found = rows_->find(key_of(session));
  if (found == rows_->end() || !is_state_of(*found->second, state)) {
    return std::nullopt;
  }
  IndexedAnswer answer;
  answer.indexed = found->second.get();
  answer.counts.resize(chunks_.wanted.size());
  const auto& chunks = answer.indexed->chunks;
  answer.may_match =
      !chunks_.tool || std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return may_call(chunk); });
  for (std::size_t i = 0; answer.may_match && i < chunks_.wanted.size(); ++i) {
    const WordChunks& word = chunks_.wanted[i];
    answer.may_match = std::any_of(chunks.begin(), chunks.end(),
                                   [&](const Chunk& chunk) { return word.perhaps_in(chunk) && may_call(chunk); });
    answer.counts[i] = answer.may_match ? count_in(chunks, word) : 0;
  }
  for (const WordChunks& word : chunks_.unwanted) {
    for (const Chunk& chunk : chunks) {
      answer.may_match = answer.may_match && (chunks_.filters_entries || !word.surely_in(chunk));
      answer.may_have_unwanted = answer.may_have_unwanted || word.perhaps_in(chunk);
    }
  }
  return answer;
}

std::vector<Chunk> IndexLookup::chunks_with_words(const IndexedAnswer& answer) const {
  std::vector<std::pair<std::ptrdiff_t, Chunk>> chosen;
  for (const Chunk& chunk : answer.indexed->chunks) {
    const auto words = std::count_if(chunks_.wanted.begin(), chunks_.wanted.end(),
                                     [&](const WordChunks& word) { return word.perhaps_in(chunk); });
    if (may_call(chunk) && (words > 0 || chunks_.wanted.empty())) {
      chosen.emplace_back(words, chunk);
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Chunk> chunks;
  chunks.reserve(chosen.size());
  for (const auto& [words, chunk] : chosen) {
    chunks.push_back(chunk);
  }
  return chunks;
}

bool IndexLookup::leaves_out_chunks(const IndexedAnswer& answer) const {
  const auto& chunks = answer.indexed->chunks;
  return std::any_of(chunks_.wanted.begin(), chunks_.wanted.end(), [&](const WordChunks& word) {
    return word.is_partial &&
           !std::all_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return word.perhaps_in(chunk); });
  });
}

std::vector<Chunk> IndexLookup::chunks_to_check(const IndexedAnswer& answer) const {
  std::vector<Chunk> chunks;
  for (const Chunk& chunk : answer.indexed->chunks) {
    const auto has = [&](const WordChunks& word) { return word.perhaps_in(chunk); };
    bool is_open = std::any_of(chunks_.unwanted.begin(), chunks_.unwanted.end(), has);
    for (std::size_t i = 0; i < chunks_.wanted.size(); ++i) {
      is_open =
          is_open || (may_call(chunk) && (chunks_.filters_entries || answer.counts[i] == 0) && has(chunks_.wanted[i]));
    }
    if (is_open || (chunks_.filters_entries && chunks_.wanted.empty() && may_call(chunk))) {
      chunks.push_back(chunk);
    }
  }
  return chunks;
}

bool can_use_index(const Query& query) {
  return !query.wanted.empty() || !query.tool.empty() || !query.filters_entries();
}

}  // namespace arborfs::search
