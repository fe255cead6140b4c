// SQLite's system calls, each of which a test can make fail: a VFS that wraps the one for Unix and is the default of
// the process while an object lives. It syncs nothing and does not wait before SQLite tries again, so that loops over
// many changes are quick. Calls that cannot fail, such as giving up a lock, are not counted. Use one object from one
// thread.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <climits>
#include <string>

namespace arborfs::testing {

class FailingVfs {
 public:
  static constexpr unsigned kForGood = UINT_MAX / 2;

  FailingVfs() {
    sqlite3_initialize();
    unix_ = sqlite3_vfs_find("unix");
    self_ = this;
    vfs_ = *unix_;
    vfs_.zName = "arborfs-failing";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(Open)) + unix_->szOsFile;
    vfs_.xOpen = open;
    vfs_.xDelete = [](sqlite3_vfs* /*vfs*/, const char* name, int sync) {
      return fails("delete") ? SQLITE_IOERR_DELETE : self_->unix_->xDelete(self_->unix_, name, sync);
    };
    vfs_.xAccess = [](sqlite3_vfs* /*vfs*/, const char* name, int flags, int* out) {
      return fails("access") ? SQLITE_IOERR_ACCESS : self_->unix_->xAccess(self_->unix_, name, flags, out);
    };
    vfs_.xSleep = [](sqlite3_vfs* /*vfs*/, int microseconds) { return microseconds; };  // no one else holds a lock
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, 1), SQLITE_OK);
  }
  ~FailingVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(unix_, 1);
    self_ = nullptr;
  }
  FailingVfs(const FailingVfs&) = delete;
  FailingVfs& operator=(const FailingVfs&) = delete;

  /// From now on the `at`-th call (from 1) fails, and so do the next ones, `count` in all.
  void arm(unsigned at, unsigned count) {
    at_ = at;
    count_ = count;
    done_ = 0;
    met_.clear();
  }
  void disarm() { at_ = 0; }
  /// The first call that failed; "" if none did.
  [[nodiscard]] const std::string& met() const { return met_; }

 private:
  struct Open {
    sqlite3_file base;
    sqlite3_file* real;
  };
  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<Open*>(file)->real; }

  static bool fails(const char* call) {
    ++self_->done_;
    const bool now = self_->at_ != 0 && self_->done_ >= self_->at_ && self_->done_ - self_->at_ < self_->count_;
    if (now && self_->met_.empty()) {
      self_->met_ = call;
    }
    return now;
  }

  static int open(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out) {
    auto* opened = reinterpret_cast<Open*>(file);
    opened->base.pMethods = nullptr;
    opened->real = reinterpret_cast<sqlite3_file*>(opened + 1);
    if (fails("open")) {
      return SQLITE_CANTOPEN;
    }
    const int done = self_->unix_->xOpen(self_->unix_, name, opened->real, flags, out);
    opened->base.pMethods = opened->real->pMethods == nullptr ? nullptr : methods();
    return done;
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods all = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;  // no mapped pages: each read is a call
      m.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
      m.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
        return fails("read") ? SQLITE_IOERR_READ : real(f)->pMethods->xRead(real(f), to, size, at);
      };
      m.xWrite = [](sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
        return fails("write") ? SQLITE_FULL : real(f)->pMethods->xWrite(real(f), from, size, at);
      };
      m.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
        return fails("truncate") ? SQLITE_IOERR_TRUNCATE : real(f)->pMethods->xTruncate(real(f), size);
      };
      m.xSync = [](sqlite3_file* /*f*/, int /*flags*/) { return fails("sync") ? SQLITE_IOERR_FSYNC : SQLITE_OK; };
      m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
        return fails("size") ? SQLITE_IOERR_FSTAT : real(f)->pMethods->xFileSize(real(f), size);
      };
      m.xLock = [](sqlite3_file* f, int level) {
        return fails("lock") ? SQLITE_IOERR_LOCK : real(f)->pMethods->xLock(real(f), level);
      };
      m.xUnlock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); };
      m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
        return fails("check lock") ? SQLITE_IOERR_CHECKRESERVEDLOCK
                                   : real(f)->pMethods->xCheckReservedLock(real(f), out);
      };
      m.xFileControl = [](sqlite3_file* f, int what, void* with) {
        return real(f)->pMethods->xFileControl(real(f), what, with);
      };
      m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
      m.xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); };
      m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
        return fails("map shared memory") ? SQLITE_IOERR_SHMMAP
                                          : real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
      };
      m.xShmLock = [](sqlite3_file* f, int at, int count, int flags) {
        return (flags & SQLITE_SHM_LOCK) != 0 && fails("lock shared memory")
                   ? SQLITE_IOERR_SHMLOCK
                   : real(f)->pMethods->xShmLock(real(f), at, count, flags);
      };
      m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
      m.xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); };
      return m;
    }();
    return &all;
  }

  static inline FailingVfs* self_ = nullptr;
  sqlite3_vfs* unix_ = nullptr;
  sqlite3_vfs vfs_{};
  unsigned at_ = 0;  // 0: not armed
  unsigned count_ = 0;
  unsigned done_ = 0;
  std::string met_;
};

}  // namespace arborfs::testing
