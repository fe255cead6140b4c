// SQLite's system calls as a test sees them: a VFS that wraps the one for Unix and is the default of the process while
// an object lives. It syncs nothing and does not wait before SQLite tries again, so that loops over many changes are
// quick. Calls that cannot fail, such as giving up a lock, are not shown. Use one object at a time, from one thread.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace arborfs::testing {

class WrappedVfs {
 public:
  WrappedVfs() {
    sqlite3_initialize();
    unix_ = sqlite3_vfs_find("unix");
    self_ = this;
    vfs_ = *unix_;
    vfs_.zName = "arborfs-wrapped";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(Open)) + unix_->szOsFile;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    vfs_.xAccess = [](sqlite3_vfs* /*vfs*/, const char* name, int flags, int* out) {
      return self_->fails("access") ? SQLITE_IOERR_ACCESS : self_->unix_->xAccess(self_->unix_, name, flags, out);
    };
    vfs_.xSleep = [](sqlite3_vfs* /*vfs*/, int microseconds) { return microseconds; };  // no one else holds a lock
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, 1), SQLITE_OK);
  }
  virtual ~WrappedVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(unix_, 1);
    self_ = nullptr;
  }
  WrappedVfs(const WrappedVfs&) = delete;
  WrappedVfs& operator=(const WrappedVfs&) = delete;

 protected:
  /// Asked before each call; it fails if this is true. A call that may create a file is "create", not "open".
  virtual bool fails(const char* call) = 0;
  /// How taking a lock of the shared memory fails.
  [[nodiscard]] virtual int failed_shared_lock() const { return SQLITE_IOERR_SHMLOCK; }
  // After a call that changed the file at a path.
  virtual void created(const std::string& /*path*/) {}
  virtual void written(const std::string& /*path*/, std::uint64_t /*at*/, std::string_view /*bytes*/) {}
  virtual void cut(const std::string& /*path*/, std::uint64_t /*size*/) {}
  virtual void synced(const std::string& /*path*/, bool /*and_its_name*/) {}
  virtual void removed(const std::string& /*path*/, bool /*is_synced*/) {}
  /// Before memory that is shared is written or read on: between the two copies of its header, too.
  virtual void ordered() {}

 private:
  struct Open {
    sqlite3_file base;
    sqlite3_file* real;
    const char* path;  // null for a file without a name
    bool name_is_due;  // for a sync: SQLite syncs the folder with the first sync of a new journal or -wal
  };
  static Open& opened(sqlite3_file* file) { return *reinterpret_cast<Open*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return opened(file).real; }

  static int open(sqlite3_vfs* /*vfs*/, const char* path, sqlite3_file* file, int flags, int* out) {
    Open& open = opened(file);
    open = {{nullptr}, reinterpret_cast<sqlite3_file*>(&open + 1), path, false};
    const bool exists = path != nullptr && ::access(path, F_OK) == 0;
    const bool creates = (flags & SQLITE_OPEN_CREATE) != 0 && !exists;
    if (self_->fails(creates ? "create" : "open")) {
      return SQLITE_CANTOPEN;
    }
    const int done = self_->unix_->xOpen(self_->unix_, path, open.real, flags, out);
    open.base.pMethods = open.real->pMethods == nullptr ? nullptr : methods();
    open.name_is_due = (flags & SQLITE_OPEN_CREATE) != 0 &&
                       (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    if (done == SQLITE_OK && creates && path != nullptr) {
      self_->created(path);
    }
    return done;
  }

  static int remove(sqlite3_vfs* /*vfs*/, const char* path, int sync) {
    if (self_->fails("delete")) {
      return SQLITE_IOERR_DELETE;
    }
    const int done = self_->unix_->xDelete(self_->unix_, path, 0);
    if (done == SQLITE_OK) {
      self_->removed(path, sync != 0);
    }
    return done;
  }

  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
    if (self_->fails("write")) {
      return SQLITE_FULL;
    }
    const int done = real(file)->pMethods->xWrite(real(file), from, size, at);
    if (done == SQLITE_OK && opened(file).path != nullptr) {
      self_->written(opened(file).path, static_cast<std::uint64_t>(at),
                     {static_cast<const char*>(from), static_cast<std::size_t>(size)});
    }
    return done;
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (self_->fails("truncate")) {
      return SQLITE_IOERR_TRUNCATE;
    }
    const int done = real(file)->pMethods->xTruncate(real(file), size);
    if (done == SQLITE_OK && opened(file).path != nullptr) {
      self_->cut(opened(file).path, static_cast<std::uint64_t>(size));
    }
    return done;
  }

  static int sync(sqlite3_file* file, int /*flags*/) {
    if (self_->fails("sync")) {
      return SQLITE_IOERR_FSYNC;
    }
    if (opened(file).path != nullptr) {
      self_->synced(opened(file).path, std::exchange(opened(file).name_is_due, false));
    }
    return SQLITE_OK;
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods all = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;  // no mapped pages: each read is a call
      m.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
      m.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
        return self_->fails("read") ? SQLITE_IOERR_READ : real(f)->pMethods->xRead(real(f), to, size, at);
      };
      m.xWrite = write;
      m.xTruncate = truncate;
      m.xSync = sync;
      m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
        return self_->fails("size") ? SQLITE_IOERR_FSTAT : real(f)->pMethods->xFileSize(real(f), size);
      };
      m.xLock = [](sqlite3_file* f, int level) {
        return self_->fails("lock") ? SQLITE_IOERR_LOCK : real(f)->pMethods->xLock(real(f), level);
      };
      m.xUnlock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); };
      m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
        return self_->fails("check lock") ? SQLITE_IOERR_CHECKRESERVEDLOCK
                                          : real(f)->pMethods->xCheckReservedLock(real(f), out);
      };
      m.xFileControl = [](sqlite3_file* f, int what, void* with) {
        return real(f)->pMethods->xFileControl(real(f), what, with);
      };
      m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
      m.xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); };
      m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
        return self_->fails("map shared memory") ? SQLITE_IOERR_SHMMAP
                                                 : real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
      };
      m.xShmLock = [](sqlite3_file* f, int at, int count, int flags) {
        return (flags & SQLITE_SHM_LOCK) != 0 && self_->fails("lock shared memory")
                   ? self_->failed_shared_lock()
                   : real(f)->pMethods->xShmLock(real(f), at, count, flags);
      };
      m.xShmBarrier = [](sqlite3_file* f) {
        self_->ordered();
        real(f)->pMethods->xShmBarrier(real(f));
      };
      m.xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); };
      return m;
    }();
    return &all;
  }

  static inline WrappedVfs* self_ = nullptr;
  sqlite3_vfs* unix_ = nullptr;
  sqlite3_vfs vfs_{};
};

}  // namespace arborfs::testing
