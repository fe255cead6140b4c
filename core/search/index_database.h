// The file of the search index, in the private cache folder, and what it has of sessions. It may be deleted, damaged or
// replaced at any time: what it says only ever saves reading a text. An open database and a table are used by one
// thread at a time, values by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/os/disk.h"
#include "core/search/terms.h"
#include "core/session/session.h"
#include "core/sqlite/connection.h"

namespace arborfs::search {

/// The session's store and log as the index names them: the paths, so that they mean the same in each process.
struct IndexKey {
  std::string store;
  std::string log;
  bool operator==(const IndexKey&) const = default;
};
struct IndexKeyHash {
  std::size_t operator()(const IndexKey& key) const {
    return std::hash<std::string>()(key.log) ^ std::hash<std::string>()(key.store);
  }
};
/// The store's part of the keys of its sessions.
std::string key_of(const Store& store);
IndexKey key_of(const Session& session);

/// An index has at most this many, those of sessions that are gone included: enough for 100 GB of texts.
inline constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 24U;

/// A chunk ends after so many bytes of texts: few enough to be read in a fraction of a millisecond.
inline constexpr std::size_t kChunkBytes = std::size_t{16} << 10U;

/// Consecutive entries whose terms are one row of the index.
struct Chunk {
  std::int64_t id = 0;  // of the row, from 1; kUnread for entries that are not in the index, because they are too long
  Ordinal first = kNoEntry;
  Ordinal last = kNoEntry;
  static constexpr std::int64_t kUnread = 0;
};

/// Where an entry lies in its log, how long its text is, and how the mount names it.
struct IndexedEntry {
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t text_size = 0;  // in bytes; 0 in a chunk without a row
  std::int64_t time_ms = Entry::kNoTime;
  std::string_view name;  // names::entry_stem without the ordinal and '-'
};

/// A session as it was in one state of its log, or its first entries: those that were indexed so far.
struct IndexedSession {
  FileStat state;  // without the device, whose number may change when the machine starts; the mode is 0 for a part
  std::vector<Chunk> chunks;   // all entries, or those of a part, in their order
  std::string packed_entries;  // entries() of them
  std::uint64_t text_bytes = 0;
  bool has_files = false;  // the index has the files that its tools touched
  [[nodiscard]] Ordinal count() const { return chunks.empty() ? kNoEntry : chunks.back().last; }
  /// Searches read the session itself.
  [[nodiscard]] bool is_part() const { return state.mode == 0; }
  /// By ordinal - 1, with names in packed_entries; nothing for damaged bytes.
  [[nodiscard]] std::optional<std::vector<IndexedEntry>> entries() const;
};

/// True if a session in this state is as it was when it was indexed, and completely indexed.
bool is_state_of(const IndexedSession& indexed, const FileStat& state);
/// The state of a part that was indexed of a session in this state.
FileStat state_of_part(FileStat state);

std::string packed(const std::vector<IndexedEntry>& entries);
std::string packed(const std::vector<Chunk>& chunks);
/// Nothing for damaged bytes.
std::optional<std::vector<Chunk>> unpacked_chunks(std::string_view bytes);

/// The file.
class IndexDatabase {
 public:
  /// Opens an index that exists. Errors: not_found; permission if it belongs to another user; corrupt; unsupported if
  /// another version of arborfs made it, or this SQLite has no full-text search; busy; io.
  static Result<IndexDatabase> open(const std::string& folder);
  /// Opens it or creates it, with mode 0600 in a folder with mode 0700. Errors also: no_space.
  static Result<IndexDatabase> open_or_create(Disk& disk, const std::string& folder);
  /// Renames what is in the index's place, so that a new one can be made. Replaces what was put aside before. Errors:
  /// those of the disk.
  static Result<void> put_aside(Disk& disk, const std::string& folder);
  /// Removes the index. Errors: those of the disk.
  static Result<void> remove(Disk& disk, const std::string& folder);

  [[nodiscard]] const sqlite::Connection& connection() const { return connection_; }
  /// False once the file was deleted or replaced.
  [[nodiscard]] bool is_in_place() const;

  static constexpr const char* kName = "search.db";

 private:
  IndexDatabase(sqlite::Connection connection, std::string folder, const FileStat& opened)
      : connection_(std::move(connection)), folder_(std::move(folder)), opened_(opened) {}
  static Result<IndexDatabase> connect(const Dir& dir, const std::string& folder);
  sqlite::Connection connection_;
  std::string folder_;
  FileStat opened_;
};

/// The rows about sessions, and the terms, in memory.
class IndexTable {
 public:
  using Row = std::shared_ptr<const IndexedSession>;
  using Rows = std::unordered_map<IndexKey, Row, IndexKeyHash>;

  /// Reads what changed since the last call. A row that another process removed stays: its chunks are still in the
  /// index. Errors: corrupt, busy, io.
  Result<void> update(const sqlite::Connection& connection);
  void forget(const IndexKey& key);
  /// Null if the session is not in the index.
  [[nodiscard]] Row find(const IndexKey& key) const;
  [[nodiscard]] const std::shared_ptr<Rows>& rows() const { return rows_; }
  /// All terms: segments whose ids follow each other.
  [[nodiscard]] const std::vector<TermSegment>& segments() const { return segments_; }
  [[nodiscard]] std::uint64_t last_chunk() const { return last_chunk_; }
  [[nodiscard]] std::int64_t last_change() const { return last_change_; }
  /// Chunks of sessions, as they are now.
  [[nodiscard]] std::uint64_t live_chunks() const;

 private:
  /// Copies the rows if another object holds them.
  Rows& rows_to_change();
  Result<void> read_terms(const sqlite::Connection& connection);
  Result<void> read_rows(const sqlite::Connection& connection, std::int64_t until);
  std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();  // never changed while another object holds it
  std::vector<TermSegment> segments_;
  std::uint64_t last_chunk_ = 0;
  std::int64_t last_change_ = 0;
};

/// What the rows say cannot be so.
Error index_is_damaged();

/// A number in the table `facts`; 0 if there is none.
Result<std::int64_t> number_fact(const sqlite::Connection& connection, std::string_view name);
Result<void> set_fact(const sqlite::Connection& connection, std::string_view name, std::int64_t number);

}  // namespace arborfs::search
