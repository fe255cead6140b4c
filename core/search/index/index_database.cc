#include "core/search/index/index_database.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/result_macros.h"
#include "core/os/state_dir.h"
#include "core/sqlite/fixed_width_tokenizer.h"
#include "core/sqlite/own_database.h"

namespace arborfs::search {

namespace {

constexpr std::int64_t kLayout = 4;  // of the pages, of the tables below, and of the values in them
constexpr mode_t kPrivateFile = 0600;

/// `sessions.changed` rises with each change of a row. `terms` has the terms from the id `first` on, which are in the
/// segment that begins with the id `segment`. `chunks` has the codes of the terms of each chunk, in their order;
/// `pairs` the filter of the pairs among them, `words` the tokens of the same terms, each once. Those of chunks that no
/// row of `sessions` has are garbage.
constexpr const char* kTables = R"(
  CREATE TABLE facts(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
  CREATE TABLE sessions(store TEXT, log TEXT, changed INTEGER, inode INTEGER, size INTEGER, mtime INTEGER, mode INTEGER,
                        owner INTEGER, chunks BLOB, entries BLOB, bytes INTEGER, PRIMARY KEY(store, log));
  CREATE UNIQUE INDEX sessions_changed ON sessions(changed);
  CREATE TABLE terms(first INTEGER PRIMARY KEY, segment INTEGER, terms BLOB);
  CREATE TABLE chunks(id INTEGER PRIMARY KEY, codes BLOB);
  CREATE TABLE pairs(id INTEGER PRIMARY KEY, filter BLOB);
  CREATE VIRTUAL TABLE words USING fts5(terms, content='', columnsize=0, detail=none, tokenize='fixed_width');
  INSERT INTO words(words, rank) VALUES('hashsize', 8388608);
  INSERT INTO words(words, rank) VALUES('automerge', 8);
  INSERT INTO facts VALUES('program', ')" ARBORFS_VERSION R"(');
  PRAGMA user_version=4;
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

}  // namespace arborfs::search
