#include "core/search/index_database.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/os/state_dir.h"
#include "core/sqlite/database.h"
#include "core/sqlite/fixed_width_tokenizer.h"

namespace arborfs::search {

namespace {

void pack(std::uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7U) {
    out.push_back(static_cast<char>(number | 0x80U));
  }
  out.push_back(static_cast<char>(number));
}

/// The next number; nothing at the end and for damaged bytes.
std::optional<std::uint64_t> unpack(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) {
      return number;
    }
  }
  return std::nullopt;
}

/// The next bytes after their length.
std::optional<std::string_view> unpack_bytes(std::string_view& bytes) {
  const auto size = unpack(bytes);
  if (!size || *size > bytes.size()) {
    return std::nullopt;
  }
  const std::string_view found = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return found;
}

/// Small for small numbers, negative ones too.
std::uint64_t folded_sign(std::uint64_t difference) {
  return difference << 1U ^ (0 - (difference >> 63U));
}

std::uint64_t unfolded_sign(std::uint64_t number) {
  return number >> 1U ^ (0 - (number & 1U));
}

}  // namespace

std::string key_of(const Store& store) {
  return std::string(store.format().name) + ":" + store.paths().sessions;
}

IndexKey key_of(const Session& session) {
  const LogPlace place = session.place();
  return {key_of(session.store()), place.folder + "/" + place.file};
}

bool is_state_of(const IndexedSession& indexed, const FileStat& state) {
  FileStat elsewhere = state;
  elsewhere.dev = indexed.state.dev;
  return elsewhere == indexed.state;
}

FileStat state_of_part(FileStat state) {
  state.mode = 0;
  return state;
}

/// Of each entry: its type, how far it lies behind the end of the last one, its length and that of its text, how much
/// later it is than the last one, and its name. The distance is negative in a log whose order is not that of its
/// entries; then it wraps around.
std::string packed(const std::vector<IndexedEntry>& entries) {
  std::string out;
  std::uint64_t end = 0;
  std::uint64_t time = 0;
  for (const IndexedEntry& entry : entries) {
    pack(static_cast<std::uint64_t>(entry.type), out);
    pack(entry.offset - end, out);
    pack(entry.length, out);
    pack(entry.text_size, out);
    pack(folded_sign(static_cast<std::uint64_t>(entry.time_ms) - time), out);
    pack(entry.name.size(), out);
    out += entry.name;
    end = entry.offset + entry.length;
    time = static_cast<std::uint64_t>(entry.time_ms);
  }
  return out;
}

std::optional<std::vector<IndexedEntry>> IndexedSession::entries() const {
  constexpr std::uint64_t kMostType = std::numeric_limits<std::uint8_t>::max();
  std::vector<IndexedEntry> all;
  constexpr std::size_t kFewestBytes = 6;  // of an entry
  all.reserve(std::min<std::size_t>(count(), packed_entries.size() / kFewestBytes));
  std::uint64_t end = 0;
  std::uint64_t time = 0;
  for (std::string_view rest = packed_entries; !rest.empty();) {
    const auto type = unpack(rest);
    const auto distance = unpack(rest);
    const auto length = unpack(rest);
    const auto text_size = unpack(rest);
    const auto later = unpack(rest);
    const auto name = unpack_bytes(rest);
    if (!name || !later || !text_size || !length || !distance || !type || *type > kMostType) {
      return std::nullopt;
    }
    time += unfolded_sign(*later);
    all.push_back(
        {static_cast<EntryType>(*type), end + *distance, *length, *text_size, static_cast<std::int64_t>(time), *name});
    end = all.back().offset + *length;
  }
  return all.size() == count() ? std::optional(std::move(all)) : std::nullopt;
}

/// Of each chunk: how much greater than the last its id is, 0 without one, and how many entries it has.
std::string packed(const std::vector<Chunk>& chunks) {
  std::string out;
  std::int64_t id = 0;
  for (const Chunk& chunk : chunks) {
    pack(chunk.id == Chunk::kUnread ? 0 : static_cast<std::uint64_t>(chunk.id - id), out);
    pack(chunk.last - chunk.first + 1, out);
    id = std::max(id, chunk.id);
  }
  return out;
}

std::optional<std::vector<Chunk>> unpacked_chunks(std::string_view bytes) {
  constexpr std::uint64_t kMostEntries = std::numeric_limits<Ordinal>::max();
  std::vector<Chunk> chunks;
  std::uint64_t id = 0;
  std::uint64_t last = 0;
  while (!bytes.empty()) {
    const auto further = unpack(bytes);
    const auto entries = unpack(bytes);
    const bool is_whole = further && entries && *entries != 0;
    if (!is_whole || *further > kMostChunks - id || *entries > kMostEntries - last) {
      return std::nullopt;
    }
    id += *further;
    chunks.push_back({*further == 0 ? Chunk::kUnread : static_cast<std::int64_t>(id), static_cast<Ordinal>(last + 1),
                      static_cast<Ordinal>(last + *entries)});
    last += *entries;
  }
  return chunks;
}

namespace {

constexpr std::int64_t kLayout = 7;  // of the pages, of the tables below, and of the values in them
constexpr mode_t kPrivateFile = 0600;

/// `sessions.changed` rises with each change of a row. `terms` has the terms from the id `first` on, which are in the
/// segment that begins with the id `segment`. `chunks` has the codes of the terms of each chunk, in their order;
/// `pairs` the filter of the pairs among them, `words` the tokens of the same terms, each once. Those of chunks that no
/// row of `sessions` has are garbage. `touched` has the files that the tools of a session touched, if `files` is 1;
/// `name` is the last part of a path.
constexpr const char* kTables = R"(
  CREATE TABLE facts(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
  CREATE TABLE sessions(store TEXT, log TEXT, changed INTEGER, inode INTEGER, size INTEGER, mtime INTEGER, mode INTEGER,
                        owner INTEGER, chunks BLOB, entries BLOB, bytes INTEGER, files INTEGER,
                        PRIMARY KEY(store, log));
  CREATE UNIQUE INDEX sessions_changed ON sessions(changed);
  CREATE TABLE touched(store TEXT, log TEXT, path TEXT, name TEXT, PRIMARY KEY(store, log, path)) WITHOUT ROWID;
  CREATE INDEX touched_name ON touched(name, path);
  CREATE TABLE terms(first INTEGER PRIMARY KEY, segment INTEGER, terms BLOB);
  CREATE TABLE chunks(id INTEGER PRIMARY KEY, codes BLOB);
  CREATE TABLE pairs(id INTEGER PRIMARY KEY, filter BLOB);
  CREATE VIRTUAL TABLE words USING fts5(terms, content='', columnsize=0, detail=none, tokenize='fixed_width');
  INSERT INTO words(words, rank) VALUES('hashsize', 8388608);
  INSERT INTO words(words, rank) VALUES('automerge', 8);
  INSERT INTO facts VALUES('program', ')" ARBORFS_VERSION R"(');
  PRAGMA user_version=7;
)";

Result<std::int64_t> layout_of(const sqlite::Connection& connection) {
  ASSIGN_OR_RETURN(auto row, connection.prepare("PRAGMA user_version"));
  RETURN_IF_ERROR(row.step());
  return row.integer(0);
}

Result<void> check_maker(const sqlite::Connection& connection) {
  ASSIGN_OR_RETURN(const auto layout, layout_of(connection));
  if (layout == kLayout) {
    ASSIGN_OR_RETURN(auto row, connection.prepare("SELECT value FROM facts WHERE name='program'"));
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (has_row && row.text(0) == ARBORFS_VERSION) {
      return {};
    }
  }
  return {Errc::unsupported, "another version of arborfs made the search index"};
}

Result<void> make_tables(const sqlite::Connection& connection) {
  RETURN_IF_ERROR(connection.run("BEGIN IMMEDIATE"));
  ASSIGN_OR_RETURN(const auto layout, layout_of(connection));  // another process may have made them
  auto made = layout == 0 ? connection.run(kTables) : Result<void>();
  made = made ? connection.run("COMMIT") : made;
  if (!made) {
    static_cast<void>(connection.run("ROLLBACK"));
  }
  return made;
}

/// The stat of the index, if it is a file of this user.
Result<FileStat> own_file(const Dir& dir) {
  ASSIGN_OR_RETURN(const auto st, dir.stat(IndexDatabase::kName));
  if (!S_ISREG(st.mode)) {
    return Error{Errc::corrupt, "the search index is not a regular file"};
  }
  return st.uid == ::geteuid() ? Result<FileStat>(st)
                               : Result<FileStat>(Errc::permission, "the search index belongs to another user");
}

/// The names of the index: what SQLite keeps next to a database follows it.
constexpr const char* kSuffixes[] = {"", "-wal", "-shm"};

}  // namespace

Result<IndexDatabase> IndexDatabase::connect(const Dir& dir, const std::string& folder) {
  ASSIGN_OR_RETURN(const auto st, own_file(dir));
  ASSIGN_OR_RETURN(auto connection, sqlite::open_own_database(folder + "/" + kName));
  RETURN_IF_ERROR(sqlite::add_fixed_width_tokenizer(connection));
  return IndexDatabase(std::move(connection), folder, st);
}

Result<IndexDatabase> IndexDatabase::open(const std::string& folder) {
  ASSIGN_OR_RETURN(const auto dir, open_private_folder(folder));
  ASSIGN_OR_RETURN(auto database, connect(dir, folder));
  RETURN_IF_ERROR(check_maker(database.connection()));
  return database;
}

Result<IndexDatabase> IndexDatabase::open_or_create(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const auto dir, make_private_folder(disk, folder, false));
  if (auto created = disk.create(dir, kName, kPrivateFile); !created && created.error().code != Errc::already_exists) {
    return created.error();
  }
  ASSIGN_OR_RETURN(auto database, connect(dir, folder));
  ASSIGN_OR_RETURN(const auto layout, layout_of(database.connection()));
  if (layout == 0) {
    RETURN_IF_ERROR(make_tables(database.connection()));
  }
  RETURN_IF_ERROR(check_maker(database.connection()));
  return database;
}

Result<void> IndexDatabase::put_aside(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const auto dir, open_private_folder(folder));
  for (const std::string suffix : kSuffixes) {
    const std::string name = kName + suffix;
    const auto moved = disk.rename(dir, name, dir, "aside-" + name, Disk::Existing::replace);
    if (!moved && moved.error().code != Errc::not_found) {
      return moved;
    }
  }
  return {};
}

Result<void> IndexDatabase::remove(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const auto dir, open_private_folder(folder));
  for (const std::string suffix : kSuffixes) {
    const auto removed = disk.remove(dir, kName + suffix);
    if (!removed && removed.error().code != Errc::not_found) {
      return removed;
    }
  }
  return {};
}

bool IndexDatabase::is_in_place() const {
  const auto dir = Dir::open_root(folder_);
  const auto st = dir ? dir->stat(kName) : Result<FileStat>(dir.error());
  return st && st->same_file(opened_);
}

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
  indexed->has_files = row.integer(11) != 0;
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
                                                 "entries, bytes, files FROM sessions WHERE changed > ?1"));
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
