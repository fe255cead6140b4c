#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/sqlite/connection.h"
#include "core/sqlite/database.h"

namespace arborfs::sqlite {

namespace {

using Checksum = std::uint64_t;
constexpr int kSmallestPage = 512;

struct Pages {
  std::string written;        // a copy, with its checksum
  std::vector<bool> is_good;  // those that were read before
};

struct CheckedFile {
  sqlite3_file base;
  sqlite3_file* real;
  Pages* pages;
};

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<CheckedFile*>(file)->real;
}

Pages& pages_of(sqlite3_file* file) {
  return *reinterpret_cast<CheckedFile*>(file)->pages;
}

/// SQLite reads and writes a page as a whole; smaller pieces are parts of the header.
bool is_page(int size, sqlite3_int64 at) {
  return size >= kSmallestPage && std::has_single_bit(static_cast<unsigned>(size)) && at % size == 0;
}

std::size_t content_of(int page_size) {
  return static_cast<std::size_t>(page_size) - sizeof(Checksum);
}

Checksum checksum_of(const char* page, int size, sqlite3_int64 at) {
  return xxh64({page, content_of(size)}, static_cast<std::uint64_t>(at) + 1);
}

bool is_sound(const char* page, int size, sqlite3_int64 at) {
  Checksum stored = 0;
  std::memcpy(&stored, page + content_of(size), sizeof stored);
  return stored == checksum_of(page, size, at);
}

/// Each page is checked when a connection reads it for the first time.
int check(Pages& pages, const char* page, int size, sqlite3_int64 at) {
  const auto number = static_cast<std::size_t>(at / size);
  if (number < pages.is_good.size() && pages.is_good[number]) {
    return SQLITE_OK;
  }
  if (!is_sound(page, size, at)) {
    return SQLITE_CORRUPT;
  }
  try {
    pages.is_good.resize(std::max(pages.is_good.size(), number + 1));
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  pages.is_good[number] = true;
  return SQLITE_OK;
}

int read(sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
  const int done = real(file)->pMethods->xRead(real(file), into, size, at);
  return done == SQLITE_OK && is_page(size, at) ? check(pages_of(file), static_cast<const char*>(into), size, at)
                                                : done;
}

int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  if (!is_page(size, at)) {
    return real(file)->pMethods->xWrite(real(file), from, size, at);
  }
  std::string& page = pages_of(file).written;
  try {
    page.assign(static_cast<const char*>(from), static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  const Checksum checksum = checksum_of(page.data(), size, at);
  std::memcpy(page.data() + content_of(size), &checksum, sizeof checksum);
  return real(file)->pMethods->xWrite(real(file), page.data(), size, at);
}

int close(sqlite3_file* file) {
  delete reinterpret_cast<CheckedFile*>(file)->pages;
  return real(file)->pMethods->xClose(real(file));
}

sqlite3_io_methods make_methods() {
  sqlite3_io_methods m{};
  m.iVersion = 2;  // no mapped pages: each read is a call
  m.xClose = close;
  m.xRead = read;
  m.xWrite = write;
  m.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) { return real(f)->pMethods->xTruncate(real(f), size); };
  m.xSync = [](sqlite3_file* f, int flags) { return real(f)->pMethods->xSync(real(f), flags); };
  m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); };
  m.xLock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); };
  m.xUnlock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); };
  m.xCheckReservedLock = [](sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); };
  m.xFileControl = [](sqlite3_file* f, int what, void* with) {
    return real(f)->pMethods->xFileControl(real(f), what, with);
  };
  m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
  m.xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); };
  m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
    return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
  };
  m.xShmLock = [](sqlite3_file* f, int at, int count, int flags) {
    return real(f)->pMethods->xShmLock(real(f), at, count, flags);
  };
  m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
  m.xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); };
  return m;
}

sqlite3_vfs* unix_vfs_below() {
  return sqlite3_vfs_find("unix");
}

/// Only the database itself is checked.
int open_checked(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  static const sqlite3_io_methods methods = make_methods();
  sqlite3_vfs* const below = unix_vfs_below();
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
    return below->xOpen(below, name, file, flags, out_flags);
  }
  auto* const checked = reinterpret_cast<CheckedFile*>(file);
  *checked = {{nullptr}, reinterpret_cast<sqlite3_file*>(checked + 1), nullptr};
  const int done = below->xOpen(below, name, checked->real, flags, out_flags);
  if (checked->real->pMethods == nullptr) {
    return done;
  }
  checked->pages = new (std::nothrow) Pages;
  if (checked->pages == nullptr) {
    checked->real->pMethods->xClose(checked->real);
    return SQLITE_NOMEM;
  }
  checked->base.pMethods = &methods;
  return done;
}

/// The name of SQLite's access to files for a database whose pages have checksums, registered by the first call: the
/// last bytes of each page hold the XXH64 of the rest and of the page's place. A page that is not what was written,
/// such as a block of zeros after a power cut, makes the first read of a connection fail (SQLITE_CORRUPT) instead of
/// being believed. They are written with the database; the -wal has its own checksums.
const char* checked_vfs() {
  static sqlite3_vfs vfs = [] {
    set_up();
    sqlite3_vfs made = *unix_vfs_below();
    made.zName = "arborfs-checked";
    made.pNext = nullptr;
    made.szOsFile += static_cast<int>(sizeof(CheckedFile));
    made.xOpen = open_checked;
    return made;
  }();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  return registered == SQLITE_OK ? vfs.zName : nullptr;
}

/// Reserves the bytes in each page of a database that is still empty. Changes no other. Errors: io.
Result<void> reserve_checksums(const Connection& connection) {
  int bytes = sizeof(Checksum);
  const int code = sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
  return code == SQLITE_OK ? Result<void>()
                           : Result<void>(error_from_sqlite(code, "cannot prepare the database", connection.handle()));
}

}  // namespace

Result<Connection> open_own_database(const std::string& path) {
  ASSIGN_OR_RETURN(auto connection,
                   Connection::open(file_uri(path) + "?mode=rw", SQLITE_OPEN_READWRITE, checked_vfs()));
  connection.wait_for_locks(std::chrono::milliseconds(0));
  RETURN_IF_ERROR(reserve_checksums(connection));
  // Of a new database: rows of a few KiB are read with one call instead of one for each 4 KiB of each.
  RETURN_IF_ERROR(connection.run("PRAGMA page_size=16384"));
  RETURN_IF_ERROR(connection.run("PRAGMA journal_mode=WAL"));
  // Not OFF: a checkpoint that does not sync may damage the database in a power cut without anything showing it.
  RETURN_IF_ERROR(connection.run("PRAGMA synchronous=NORMAL"));
  // What is deleted is overwritten where that costs no further writes.
  RETURN_IF_ERROR(connection.run("PRAGMA secure_delete=FAST"));
  RETURN_IF_ERROR(connection.run("PRAGMA journal_size_limit=1048576"));
  return connection;
}

}  // namespace arborfs::sqlite
