#include "core/search/index_writer.h"

#include <utility>

#include "core/base/result_macros.h"

namespace arborfs::search {

Result<std::unique_ptr<IndexWriter>> IndexWriter::open(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(auto database, IndexDatabase::open_or_create(disk, folder));
  std::unique_ptr<IndexWriter> writer(new IndexWriter(std::move(database)));
  RETURN_IF_ERROR(writer->update());
  return writer;
}

Result<void> IndexWriter::update() {
  return table_.update(connection());
}

Result<void> IndexWriter::begin() {
  RETURN_IF_ERROR(connection().run("BEGIN IMMEDIATE"));
  is_in_batch_ = true;
  RETURN_IF_ERROR(update());
  last_chunk_ = table_.last_chunk();
  last_change_ = table_.last_change();
  counts_ = table_.counts();
  return {};
}

Result<std::int64_t> IndexWriter::add_chunk(std::string_view grams) {
  if (last_chunk_ >= kMostChunks) {
    return Error{Errc::too_large, "the search index has become too large"};
  }
  const auto id = static_cast<std::int64_t>(++last_chunk_);
  ASSIGN_OR_RETURN(auto row, connection().prepare("INSERT INTO grams(rowid, text) VALUES(?1, ?2)"));
  row.bind(1, id);
  row.bind(2, grams);
  RETURN_IF_ERROR(row.step());
  counts_.add(grams);
  return id;
}

Result<void> IndexWriter::put(const IndexKey& key, const IndexedSession& session) {
  ASSIGN_OR_RETURN(auto row, connection().prepare(
                                 "INSERT OR REPLACE INTO sessions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  const std::string chunks = packed(session.chunks);
  row.bind(1, key.store);
  row.bind(2, key.log);
  row.bind(3, ++last_change_);
  row.bind(4, static_cast<std::int64_t>(session.state.ino));
  row.bind(5, static_cast<std::int64_t>(session.state.size));
  row.bind(6, session.state.mtime_ns);
  row.bind(7, static_cast<std::int64_t>(session.state.mode));
  row.bind(8, static_cast<std::int64_t>(session.state.uid));
  row.bind_blob(9, chunks);
  row.bind_blob(10, session.packed_entries);
  RETURN_IF_ERROR(row.step());
  return {};
}

Result<void> IndexWriter::remove(const IndexKey& key) {
  ASSIGN_OR_RETURN(auto row, connection().prepare("DELETE FROM sessions WHERE store=?1 AND log=?2"));
  row.bind(1, key.store);
  row.bind(2, key.log);
  RETURN_IF_ERROR(row.step());
  table_.forget(key);
  return {};
}

/// Storing the counts costs 1 MiB, and they need not be exact.
Result<void> IndexWriter::store_facts() {
  RETURN_IF_ERROR(set_fact(connection(), "last_chunk", static_cast<std::int64_t>(last_chunk_)));
  RETURN_IF_ERROR(set_fact(connection(), "last_change", last_change_));
  ASSIGN_OR_RETURN(const auto counted, number_fact(connection(), "counted"));
  if (last_chunk_ <= static_cast<std::uint64_t>(counted) * 3 / 2) {
    return {};
  }
  RETURN_IF_ERROR(set_fact(connection(), "counted", static_cast<std::int64_t>(last_chunk_)));
  ASSIGN_OR_RETURN(auto row, connection().prepare("INSERT OR REPLACE INTO facts VALUES('counts', ?1)"));
  const std::string bytes = counts_.bytes();
  row.bind_blob(1, bytes);
  RETURN_IF_ERROR(row.step());
  return {};
}

Result<void> IndexWriter::commit() {
  RETURN_IF_ERROR(store_facts());
  RETURN_IF_ERROR(connection().run("COMMIT"));
  is_in_batch_ = false;
  return update();
}

void IndexWriter::roll_back() {
  if (is_in_batch_) {
    static_cast<void>(connection().run("ROLLBACK"));
    is_in_batch_ = false;
  }
}

bool IndexWriter::is_mostly_garbage() const {
  constexpr std::uint64_t kFew = 64;
  return table_.last_chunk() > 2 * table_.live_chunks() + kFew;
}

}  // namespace arborfs::search
