#include "core/search/search_index.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/search/grams.h"

namespace arborfs::search {

namespace {

/// More grams of a word would hardly exclude more chunks, but each costs reading where it occurs.
constexpr std::size_t kMostGrams = 6;

/// Where so few chunks have a gram, reading which ones costs nothing.
constexpr std::uint64_t kFew = 256;

/// The rarest grams of a word, rarest first.
std::vector<std::string> rarest_grams(std::string_view word, const GramCounts& counts) {
  auto grams = grams_of(word);
  std::stable_sort(grams.begin(), grams.end(),
                   [&](const auto& a, const auto& b) { return counts.of(a) < counts.of(b); });
  grams.resize(std::min(grams.size(), kMostGrams));
  return grams;
}

/// In the syntax of FTS5: all of them.
std::string match_of(const std::vector<std::string>& grams) {
  std::string match;
  for (const std::string& gram : grams) {
    match += match.empty() ? "\"" : " AND \"";
    for (const char c : gram) {
      match += c == '"' ? "\"\"" : std::string(1, c);
    }
    match += '"';
  }
  return match;
}

}  // namespace

std::shared_ptr<const IndexLookup> SearchIndex::look_up(const Query& query) {
  if (!can_use_index(query)) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  auto found = read(query);
  if (!found) {
    database_.reset();
    return nullptr;
  }
  return *found;
}

/// The transaction makes rows and grams those of one moment.
Result<std::shared_ptr<const IndexLookup>> SearchIndex::read(const Query& query) {
  if (database_ && !database_->is_in_place()) {
    database_.reset();
  }
  if (!database_) {
    table_ = IndexTable();
    ASSIGN_OR_RETURN(auto opened, IndexDatabase::open(folder_));
    database_.emplace(std::move(opened));
  }
  RETURN_IF_ERROR(database_->connection().run("BEGIN"));
  RETURN_IF_ERROR(table_.update(database_->connection()));
  QueryChunks chunks;
  for (const auto& [words, sets] : {std::pair(&query.wanted, &chunks.wanted), {&query.unwanted, &chunks.unwanted}}) {
    for (const std::string& word : *words) {
      ASSIGN_OR_RETURN(auto found, chunks_with(word));
      sets->push_back(std::move(found));
    }
  }
  if (!query.tool.empty()) {
    ASSIGN_OR_RETURN(auto found, chunks_with(query.tool));
    chunks.tool = std::move(found);
  }
  RETURN_IF_ERROR(database_->connection().run("COMMIT"));
  return std::shared_ptr<const IndexLookup>(std::make_shared<IndexLookup>(table_.rows(), std::move(chunks)));
}

/// Reading where a gram occurs that most chunks have would cost more than it saves.
Result<ChunkSet> SearchIndex::chunks_with(const std::string& word) const {
  const auto grams = rarest_grams(word, table_.counts());
  if (grams.empty() || table_.counts().of(grams.front()) > std::max<std::uint64_t>(table_.last_chunk() * 3 / 4, kFew)) {
    return ChunkSet::all();
  }
  ASSIGN_OR_RETURN(auto rows, database_->connection().prepare("SELECT rowid FROM grams WHERE grams MATCH ?1"));
  const std::string match = match_of(grams);
  rows.bind(1, match);
  ChunkSet found(table_.last_chunk());
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      return found;
    }
    found.add(static_cast<std::uint64_t>(rows.integer(0)));
  }
}

}  // namespace arborfs::search
