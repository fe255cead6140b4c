#include "core/search/search_index.h"

#include <algorithm>

#include "core/base/result_macros.h"

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
    has_later = has_later || word.may.has(chunks[i].id);
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

namespace {

/// True if an index can save reading texts for the query.
bool can_use_index(const Query& query) {
  return !query.wanted.empty() || !query.tool.empty() || !query.filters_entries();
}

}  // namespace

std::shared_ptr<const IndexLookup> SearchIndex::look_up(const Query& query, const IsOver& is_over) {
  if (!can_use_index(query)) {
    return nullptr;
  }
  auto found = read_or_close(query, is_over);
  if (!found && found.error().code == Errc::corrupt && on_damage_) {
    on_damage_();
  }
  return found ? *found : nullptr;
}

/// Only the index that is in place can be reported as damaged.
Result<std::shared_ptr<const IndexLookup>> SearchIndex::read_or_close(const Query& query, const IsOver& is_over) {
  const std::lock_guard lock(mutex_);
  auto found = read(query, is_over);
  const bool is_usable = found || (found.error().code == Errc::interrupted && database_->connection().run("ROLLBACK"));
  if (is_usable) {
    return found;
  }
  const bool is_replaced = database_ && !database_->is_in_place();
  close();
  return is_replaced ? Error{Errc::not_found, "the search index was replaced"} : found;
}

void SearchIndex::close() {
  terms_.reset();
  database_.reset();
  second_.reset();
}

Result<void> SearchIndex::open() {
  if (database_ && !database_->is_in_place()) {
    close();
  }
  if (!database_) {
    table_ = IndexTable();
    ASSIGN_OR_RETURN(auto opened, IndexDatabase::open(folder_));
    ASSIGN_OR_RETURN(auto terms, TermChunks::make(opened.connection()));
    database_.emplace(std::move(opened));
    terms_.emplace(std::move(terms));
    if (auto second = IndexDatabase::open(folder_); second && second->is_in_place() && database_->is_in_place()) {
      second_.emplace(std::move(*second));
    }
  }
  return {};
}

/// The transaction makes rows and chunks those of one moment.
Result<std::shared_ptr<const IndexLookup>> SearchIndex::read(const Query& query, const IsOver& is_over) {
  RETURN_IF_ERROR(open());
  RETURN_IF_ERROR(database_->connection().run("BEGIN"));
  RETURN_IF_ERROR(table_.update(database_->connection()));
  const WordIndex index{database_->connection(), second_ ? &second_->connection() : nullptr, table_, *terms_};
  const auto find = [&](const std::string& word, bool needs_all) { return find_word(index, word, needs_all, is_over); };
  QueryChunks chunks;
  chunks.filters_entries = query.filters_entries();
  for (const auto& [words, sets] : {std::pair(&query.wanted, &chunks.wanted), {&query.unwanted, &chunks.unwanted}}) {
    for (const std::string& word : *words) {
      ASSIGN_OR_RETURN(auto found, find(word, query.filters_entries()));
      sets->push_back(std::move(found));
    }
  }
  if (!query.tool.empty()) {
    ASSIGN_OR_RETURN(chunks.tool, find(query.tool, true));
  }
  RETURN_IF_ERROR(database_->connection().run("COMMIT"));
  return std::shared_ptr<const IndexLookup>(std::make_shared<IndexLookup>(table_.rows(), std::move(chunks)));
}

}  // namespace arborfs::search
