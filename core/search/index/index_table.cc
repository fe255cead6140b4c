#include "core/search/index/index_table.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"

namespace arborfs::search {

namespace {

Result<IndexTable::Row> row_of(const sqlite::Statement& row) {
  auto indexed = std::make_shared<IndexedSession>();
  indexed->state.ino = static_cast<std::uint64_t>(row.integer(3));
  indexed->state.size = static_cast<std::uint64_t>(row.integer(4));
  indexed->state.mtime_ns = row.integer(5);
  indexed->state.mode = static_cast<std::uint32_t>(row.integer(6));
  indexed->state.uid = static_cast<std::uint32_t>(row.integer(7));
  auto chunks = unpacked_chunks(row.blob(8));
  if (!chunks) {
    return index_is_damaged();
  }
  indexed->chunks = std::move(*chunks);
  indexed->packed_entries = row.blob(9);
  indexed->text_bytes = static_cast<std::uint64_t>(row.integer(10));
  return IndexTable::Row(std::move(indexed));
}

}  // namespace

Error index_is_damaged() {
  return {Errc::corrupt, "the search index is damaged"};
}

Result<std::int64_t> number_fact(const sqlite::Connection& connection, std::string_view name) {
  ASSIGN_OR_RETURN(auto row, connection.prepare("SELECT value FROM facts WHERE name=?1"));
  row.bind(1, name);
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  return has_row ? row.integer(0) : 0;
}

Result<void> set_fact(const sqlite::Connection& connection, std::string_view name, std::int64_t number) {
  ASSIGN_OR_RETURN(auto row, connection.prepare("INSERT OR REPLACE INTO facts VALUES(?1, ?2)"));
  row.bind(1, name);
  row.bind(2, number);
  RETURN_IF_ERROR(row.step());
  return {};
}

Result<void> IndexTable::update(const sqlite::Connection& connection) {
  RETURN_IF_ERROR(read_terms(connection));
  ASSIGN_OR_RETURN(const auto change, number_fact(connection, "last_change"));
  ASSIGN_OR_RETURN(const auto chunk, number_fact(connection, "last_chunk"));
  // A crash of an older version may have left chunks without a row.
  if (change != last_change_ || chunk != static_cast<std::int64_t>(last_chunk_)) {
    if (change < last_change_ || chunk < 0 || static_cast<std::uint64_t>(chunk) > kMostChunks) {
      return index_is_damaged();
    }
    RETURN_IF_ERROR(read_rows(connection, chunk));
    last_chunk_ = static_cast<std::uint64_t>(chunk);
    last_change_ = change;
  }
  return {};
}

/// The terms that were added since the last call.
Result<void> IndexTable::read_terms(const sqlite::Connection& connection) {
  ASSIGN_OR_RETURN(auto rows,
                   connection.prepare("SELECT first, segment, terms FROM terms WHERE first >= ?1 ORDER BY first"));
  const TermId next = segments_.empty() ? 1 : segments_.back().next();
  rows.bind(1, static_cast<std::int64_t>(next));
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      return {};
    }
    const std::int64_t first = rows.integer(0);
    const std::int64_t segment = rows.integer(1);
    if (segments_.empty() || segments_.back().first != segment) {
      if (segment != first) {
        return index_is_damaged();
      }
      segments_.emplace_back().first = static_cast<TermId>(segment);
    }
    TermSegment& last = segments_.back();
    const bool follows = first == static_cast<std::int64_t>(last.next());
    if (!follows || !unpack_terms(rows.blob(2), last) || last.next() > kMostTerms) {
      return index_is_damaged();
    }
  }
}

Result<void> IndexTable::read_rows(const sqlite::Connection& connection, std::int64_t until) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT store, log, changed, inode, size, mtime, mode, owner, chunks, "
                                                 "entries, bytes FROM sessions WHERE changed > ?1"));
  rows.bind(1, last_change_);
  Rows& changed = rows_to_change();
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      return {};
    }
    ASSIGN_OR_RETURN(auto row, row_of(rows));
    const auto is_beyond = [&](const Chunk& chunk) { return chunk.id > until; };
    if (std::any_of(row->chunks.begin(), row->chunks.end(), is_beyond)) {
      return index_is_damaged();
    }
    changed[{std::string(rows.text(0)), std::string(rows.text(1))}] = std::move(row);
  }
}

IndexTable::Rows& IndexTable::rows_to_change() {
  if (rows_.use_count() > 1) {
    rows_ = std::make_shared<Rows>(*rows_);
  }
  return *rows_;
}

void IndexTable::forget(const IndexKey& key) {
  rows_to_change().erase(key);
}

IndexTable::Row IndexTable::find(const IndexKey& key) const {
  const auto found = rows_->find(key);
  return found == rows_->end() ? nullptr : found->second;
}

std::uint64_t IndexTable::live_chunks() const {
  std::uint64_t count = 0;
  for (const auto& [key, row] : *rows_) {
    count += row->chunks.size();
  }
  return count;
}

}  // namespace arborfs::search
