#include "core/sqlite/set_up.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>

namespace arborfs::sqlite {

namespace {

/// Touches each page as a write does, changes nothing, and fails where a write would end the process.
bool can_write_pages(void* address, std::size_t length) {
  if (::madvise(address, length, MADV_POPULATE_WRITE) == 0) {
    return true;
  }
  const bool is_full = errno == EFAULT;  // else the kernel (before 5.14) does not know the call
  errno = is_full ? ENOSPC : errno;
  return !is_full;
}

/// Other programs may write to the file meanwhile: what is there stays.
bool has_space(void* address, std::size_t length, int fd, off_t offset) {
  const int done = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(length));
  return done == 0 || (errno == EOPNOTSUPP && can_write_pages(address, length));
}

void* map(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) {
  void* const mapped = ::mmap(address, length, protection, flags, fd, offset);
  const bool is_written = fd >= 0 && (protection & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0;
  if (mapped == MAP_FAILED || !is_written || has_space(mapped, length, fd, offset)) {
    return mapped;
  }
  const int error = errno;
  ::munmap(mapped, length);
  errno = error;
  return MAP_FAILED;
}

int keep_owner(int /*fd*/, uid_t /*owner*/, gid_t /*group*/) {
  return 0;
}

/// Memory that is shared through a file and written is mapped only if the file has space behind it. SQLite writes a
/// byte for each 4 KiB of a -shm, which leaves holes where blocks are smaller, and adds nothing to a file that another
/// program made; a write to a page without space would end the process (SIGBUS). Such a file gives SQLITE_IOERR_SHMMAP,
/// with ENOSPC or EDQUOT as the system's error. A copy-on-write file system may still refuse a later write.
///
/// No file is given another owner: for root, SQLite gives each -wal and -shm that it opens the owner of the database.
/// That changes their ctime and wakes whatever watches them. arborfs writes only to databases of its own user, whose
/// new files have the right owner.
///
/// Initializes SQLite. Once, before the first connection.
void replace_system_calls() {
  sqlite3_initialize();
  sqlite3_vfs* const vfs = sqlite3_vfs_find("unix");
  vfs->xSetSystemCall(vfs, "mmap", reinterpret_cast<sqlite3_syscall_ptr>(map));
  vfs->xSetSystemCall(vfs, "fchown", reinterpret_cast<sqlite3_syscall_ptr>(keep_owner));
}

}  // namespace

/// Without its statistics, SQLite's allocations share no lock. A thread that runs only when the machine is idle could
/// be preempted while it holds that lock, and every other use of SQLite would wait for it.
void set_up() {
  static const bool is_done = [] {
    // An error means that SQLite is in use already; it works with its statistics too.
    static_cast<void>(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0));
    replace_system_calls();
    return true;
  }();
  static_cast<void>(is_done);
}

}  // namespace arborfs::sqlite
