#include "core/search/index/search_index.h"

#include "core/base/result_macros.h"
#include "core/search/index/word_chunks.h"

namespace arborfs::search {

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
  const IndexConnections connections{&database_->connection(), second_ ? &second_->connection() : nullptr};
  const WordIndex index{connections, table_, *terms_};
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
