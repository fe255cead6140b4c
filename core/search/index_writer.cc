#include "core/search/index_writer.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace arborfs::search {

namespace {

/// A segment with so many terms is full: its terms are in memory while texts are indexed.
constexpr std::size_t kFullSegment = std::size_t{1} << 20U;
constexpr std::uint64_t kBatchBytes = std::uint64_t{32} << 20U;
constexpr std::chrono::seconds kBatchTime{5};
/// Terms in a row of the database, whose values have at most Connection::kLongestValue; 17 MB at most.
constexpr TermId kTermsInRow = TermId{1} << 18U;

/// Each term once.
std::string tokens_of(std::vector<TermId> terms) {
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  std::string tokens;
  for (const TermId term : terms) {
    append_token(term, tokens);
  }
  return tokens;
}

/// The segment to which a batch adds its terms.
TermSegment segment_to_grow(const std::vector<TermSegment>& segments) {
  if (!segments.empty() && segments.back().count() < kFullSegment) {
    return segments.back();
  }
  TermSegment fresh;
  fresh.first = segments.empty() ? 1 : segments.back().next();
  return fresh;
}

}  // namespace

Result<std::unique_ptr<IndexWriter>> IndexWriter::open(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(auto database, IndexDatabase::open_or_create(disk, folder));
  std::unique_ptr<IndexWriter> writer(new IndexWriter(std::move(database)));
  RETURN_IF_ERROR(writer->update());
  return writer;
}

/// A transaction, so that what another process commits meanwhile is seen completely or not at all.
Result<void> IndexWriter::update() {
  if (is_in_batch_) {
    return table_.update(connection());
  }
  RETURN_IF_ERROR(connection().run("BEGIN"));
  const auto done = table_.update(connection());
  const auto ended = connection().run(done ? "COMMIT" : "ROLLBACK");
  return done ? ended : done;
}

Result<void> IndexWriter::begin() {
  RETURN_IF_ERROR(connection().run("BEGIN IMMEDIATE"));
  is_in_batch_ = true;
  batch_begun_ = std::chrono::steady_clock::now();
  batch_bytes_ = 0;
  RETURN_IF_ERROR(update());
  last_chunk_ = table_.last_chunk();
  last_change_ = table_.last_change();
  terms_.begin(segment_to_grow(table_.segments()));
  return {};
}

Result<void> IndexWriter::check_free() {
  if (is_in_batch_) {
    return {};
  }
  RETURN_IF_ERROR(connection().run("BEGIN IMMEDIATE"));
  return connection().run("ROLLBACK");
}

bool IndexWriter::is_batch_full() const {
  return is_in_batch_ && (batch_bytes_ >= kBatchBytes || std::chrono::steady_clock::now() - batch_begun_ >= kBatchTime);
}

Result<std::int64_t> IndexWriter::add_chunk(const std::vector<TermId>& terms, std::uint64_t text_bytes) {
  if (last_chunk_ >= kMostChunks || terms_.terms().next() > kMostTerms) {
    return Error{Errc::too_large, "the search index has become too large"};
  }
  const auto id = static_cast<std::int64_t>(++last_chunk_);
  batch_bytes_ += text_bytes;
  std::string codes;
  for (const TermId term : terms) {
    append_code(term, codes);
  }
  ASSIGN_OR_RETURN(auto row, connection().prepare("INSERT INTO chunks VALUES(?1, ?2)"));
  row.bind(1, id);
  row.bind_blob(2, codes);
  RETURN_IF_ERROR(row.step());
  ASSIGN_OR_RETURN(auto pairs, connection().prepare("INSERT INTO pairs VALUES(?1, ?2)"));
  const std::string filter = pair_filter_of(terms);
  pairs.bind(1, id);
  pairs.bind_blob(2, filter);
  RETURN_IF_ERROR(pairs.step());
  ASSIGN_OR_RETURN(auto words, connection().prepare("INSERT INTO words(rowid, terms) VALUES(?1, ?2)"));
  const std::string tokens = tokens_of(terms);
  words.bind(1, id);
  words.bind(2, tokens);
  RETURN_IF_ERROR(words.step());
  return id;
}

Result<void> IndexWriter::put(const IndexKey& key, const IndexedSession& session,
                              const std::vector<std::string>& files) {
  RETURN_IF_ERROR(remove_texts(table_.find(key), session.chunks));
  ASSIGN_OR_RETURN(auto row,
                   connection().prepare(
                       "INSERT OR REPLACE INTO sessions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"));
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
  row.bind(11, static_cast<std::int64_t>(session.text_bytes));
  row.bind(12, std::int64_t{session.has_files ? 1 : 0});
  RETURN_IF_ERROR(row.step());
  return put_files(key, files);
}

Result<void> IndexWriter::put_files(const IndexKey& key, const std::vector<std::string>& files) {
  ASSIGN_OR_RETURN(auto old, connection().prepare("DELETE FROM touched WHERE store=?1 AND log=?2"));
  old.bind(1, key.store);
  old.bind(2, key.log);
  RETURN_IF_ERROR(old.step());
  ASSIGN_OR_RETURN(auto row, connection().prepare("INSERT OR IGNORE INTO touched VALUES(?1, ?2, ?3, ?4)"));
  for (const std::string& path : files) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    row.reset();
    row.bind(1, key.store);
    row.bind(2, key.log);
    row.bind(3, path);
    row.bind(4, name);
    RETURN_IF_ERROR(row.step());
  }
  return {};
}

/// What a session said does not stay in the index longer than in its log.
Result<void> IndexWriter::remove_texts(const IndexTable::Row& old, const std::vector<Chunk>& kept) {
  if (old == nullptr) {
    return {};
  }
  ASSIGN_OR_RETURN(auto codes, connection().prepare("DELETE FROM chunks WHERE id=?1"));
  ASSIGN_OR_RETURN(auto pairs, connection().prepare("DELETE FROM pairs WHERE id=?1"));
  for (const Chunk& chunk : old->chunks) {
    if (std::any_of(kept.begin(), kept.end(), [&](const Chunk& one) { return one.id == chunk.id; })) {
      continue;
    }
    for (sqlite::Statement* const row : {&codes, &pairs}) {
      row->reset();
      row->bind(1, chunk.id);
      RETURN_IF_ERROR(row->step());
    }
  }
  return {};
}

Result<void> IndexWriter::remove(const IndexKey& key) {
  RETURN_IF_ERROR(remove_texts(table_.find(key), {}));
  ASSIGN_OR_RETURN(auto row, connection().prepare("DELETE FROM sessions WHERE store=?1 AND log=?2"));
  row.bind(1, key.store);
  row.bind(2, key.log);
  RETURN_IF_ERROR(row.step());
  table_.forget(key);
  return put_files(key, {});
}

/// The terms that this batch added.
Result<void> IndexWriter::store_terms() {
  const auto& stored = table_.segments();
  const TermSegment& terms = terms_.terms();
  TermId from = stored.empty() ? 1 : stored.back().next();
  ASSIGN_OR_RETURN(auto row, connection().prepare("INSERT INTO terms VALUES(?1, ?2, ?3)"));
  while (from < terms.next()) {
    const TermId until = std::min(terms.next(), from + kTermsInRow);
    const std::string bytes = packed_terms(terms, from, until);
    row.reset();
    row.bind(1, static_cast<std::int64_t>(from));
    row.bind(2, static_cast<std::int64_t>(terms.first));
    row.bind_blob(3, bytes);
    RETURN_IF_ERROR(row.step());
    from = until;
  }
  return {};
}

Result<void> IndexWriter::commit() {
  RETURN_IF_ERROR(store_terms());
  RETURN_IF_ERROR(set_fact(connection(), "last_chunk", static_cast<std::int64_t>(last_chunk_)));
  RETURN_IF_ERROR(set_fact(connection(), "last_change", last_change_));
  RETURN_IF_ERROR(connection().run("COMMIT"));
  is_in_batch_ = false;
  has_log_ = true;
  return update();
}

void IndexWriter::roll_back() {
  if (is_in_batch_) {
    static_cast<void>(connection().run("ROLLBACK"));
    is_in_batch_ = false;
  }
}

/// SQLite alone leaves the log as large as the largest batch.
void IndexWriter::empty_log() {
  if (has_log_) {
    static_cast<void>(connection().run("PRAGMA wal_checkpoint(TRUNCATE)"));
    has_log_ = false;
  }
}

bool IndexWriter::is_mostly_garbage() const {
  constexpr std::uint64_t kFew = 64;
  return table_.last_chunk() > 2 * table_.live_chunks() + kFew;
}

}  // namespace arborfs::search
