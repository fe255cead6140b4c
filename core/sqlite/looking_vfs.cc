#include "core/sqlite/looking_vfs.h"

#include <sqlite3.h>

#include <algorithm>

#include "core/sqlite/set_up.h"

namespace arborfs::sqlite {
namespace {

constexpr int kTemporary = SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_TRANSIENT_DB |
                           SQLITE_OPEN_SUBJOURNAL | SQLITE_OPEN_DELETEONCLOSE;

sqlite3_vfs* unix_vfs() {
  return sqlite3_vfs_find("unix");
}

int open_to_look(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  if ((flags & kTemporary) == 0) {
    flags = (flags & ~(SQLITE_OPEN_CREATE | SQLITE_OPEN_READWRITE)) | SQLITE_OPEN_READONLY;
  }
  return unix_vfs()->xOpen(unix_vfs(), name, file, flags, out_flags);
}

int refuse_to_delete(sqlite3_vfs* /*vfs*/, const char* /*name*/, int /*sync_folder*/) {
  return SQLITE_IOERR_DELETE;
}

/// SQLite tries a hundred times, and waits longer each time.
int wait_a_little(sqlite3_vfs* /*vfs*/, int microseconds) {
  constexpr int kLongest = 1000;
  return unix_vfs()->xSleep(unix_vfs(), std::min(microseconds, kLongest));
}

sqlite3_vfs make_looking_vfs() {
  sqlite3_vfs vfs = *unix_vfs();
  vfs.zName = "arborfs-looking";
  vfs.pNext = nullptr;
  vfs.xOpen = open_to_look;
  vfs.xDelete = refuse_to_delete;
  vfs.xSleep = wait_a_little;
  return vfs;
}

}  // namespace

const char* looking_vfs() {
  static sqlite3_vfs vfs = [] {
    set_up();
    return make_looking_vfs();
  }();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  return registered == SQLITE_OK ? vfs.zName : nullptr;
}

}  // namespace arborfs::sqlite
