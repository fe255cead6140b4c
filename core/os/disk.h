// Every system call that changes durable state, so that tests can make each one fail, write less than asked, or be the
// last. The base class is the real disk; a test overrides the calls that it wants to break. Thread-safe: it keeps no
// state.
//
// Names are one component, relative to an open folder, and never followed through a symbolic link (FAILURES.md S3,
// S15). Opens, writes and truncations that a signal interrupts are retried. Errors of all functions: those of errno
// (error_from_errno).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/unique_fd.h"
#include "core/os/file.h"

namespace arborfs {

class Disk {
 public:
  enum class Existing : std::uint8_t { keep, replace };

  virtual ~Disk() = default;
  static Disk& real();

  /// Opens an existing regular file for reading and appending. Errors also: corrupt if it is not a regular file; busy
  /// if another process does not give up its lease on it.
  virtual Result<UniqueFd> open_append(const Dir& folder, const std::string& name);
  /// The same for writing in place (write_at).
  virtual Result<UniqueFd> open_update(const Dir& folder, const std::string& name);
  /// Creates a file; already_exists if the name is taken. The umask applies to `mode`. Errors also: not_permitted in a
  /// folder from which no name can be removed again (chattr +a).
  virtual Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode);
  /// One write(2): returns how many bytes were written, which may be fewer than given.
  virtual Result<std::size_t> write(int fd, std::string_view bytes);
  virtual Result<std::size_t> write_at(int fd, std::string_view bytes, std::uint64_t offset);
  virtual Result<void> set_mode(int fd, mode_t mode);
  /// Gives a file another owner and group.
  virtual Result<void> set_owner(int fd, uid_t owner, gid_t group);
  /// Sets an extended attribute.
  virtual Result<void> set_attribute(int fd, const std::string& name, std::string_view value);
  /// Sets the modification time of a file or folder, in nanoseconds since 1970.
  virtual Result<void> set_mtime(int fd, std::int64_t mtime_ns);
  virtual Result<void> truncate(int fd, std::uint64_t size);
  /// fdatasync(2). After a failure, do not trust the result of a later call (FAILURES.md P3).
  virtual Result<void> sync(int fd);
  virtual Result<void> sync_folder(const Dir& folder);
  /// Files and folders that are synced as one step, in any order.
  struct SyncSet {
    std::vector<int> files;  // descriptors
    std::vector<const Dir*> folders;
  };
  /// sync() and sync_folder() of all of them. The real disk waits for all at once: they share the commits of the file
  /// system and the flushes of the device's cache.
  virtual Result<void> sync_all(const SyncSet& set);
  /// Within one file system. With Existing::keep, fails with already_exists if the new name is taken. Where the file
  /// system does not support RENAME_NOREPLACE (FUSE, NFS), a file is linked to its new name and the old name is then
  /// removed, so a crash may leave both names. Folders there, and files where hard links are unsupported too, are
  /// renamed after a check that the name is free; a file or an empty folder created in between is lost.
  virtual Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                              Existing existing);
  /// Exchanges two names of a folder, both of which exist. Errors also: unsupported if the file system cannot.
  virtual Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other);
  virtual Result<void> remove(const Dir& folder, const std::string& name);
  /// Not an error if the folder exists already. Errors also: as create.
  virtual Result<void> make_folder(const Dir& folder, const std::string& name, mode_t mode);
  /// Removes an empty folder.
  virtual Result<void> remove_folder(const Dir& folder, const std::string& name);
  /// Creates a symbolic link.
  virtual Result<void> make_link(const Dir& folder, const std::string& name, const std::string& target);
  /// Reserves `bytes` of space on the folder's file system until the descriptor is closed. The descriptor is invalid if
  /// the file system cannot reserve space.
  virtual Result<UniqueFd> reserve(const Dir& folder, std::uint64_t bytes);

 protected:
  /// Plain renameat2(2): 0, or -1 and errno.
  virtual int rename_at(const Dir& from, const char* name, const Dir& to, const char* new_name, unsigned flags);
};

/// Space on a file system that no other program can take, until the last pointer to it is gone.
struct DiskRoom {
  UniqueFd file;  // invalid where the file system cannot reserve space
  std::uint64_t device = 0;
  std::uint64_t bytes = 0;
};
using DiskRoomPtr = std::shared_ptr<const DiskRoom>;

/// Keeps small rooms from one command to the next: to reserve 16 KiB and to free them takes 150 µs on ext4, a fifth of
/// an append that is synced and a third of one that is not. A write that finds the disk full frees them and tries
/// again; the owner frees them once nothing is written for a while. Thread-safe.
class KeptRooms {
 public:
  /// Rooms that are larger are freed by the command that took them.
  static constexpr std::uint64_t kLargest = 32 << 10;

  /// `disk` outlives it.
  explicit KeptRooms(Disk& disk) : disk_(disk) {}
  /// At least `bytes` on the folder's file system, which nobody else uses. Errors: those of Disk::reserve.
  Result<DiskRoomPtr> take(const Dir& folder, std::uint64_t bytes);
  /// Frees what no command has. False if there was nothing.
  bool free();

 private:
  static constexpr std::size_t kMost = 4;

  Disk& disk_;
  std::mutex mutex_;               // a leaf
  std::vector<DiskRoomPtr> kept_;  // those that a command has too; guarded by mutex_
};

/// Opens a file for reading; creates an empty one, which sets `is_new`, if there is none. Errors: those of
/// File::open_in and Disk::create.
Result<File> open_or_create(Disk& disk, const Dir& folder, const std::string& name, mode_t mode, bool& is_new);

/// Writes all of `bytes`, in as many writes as needed. On an error some of them may have been written.
Result<void> write_all(Disk& disk, int fd, std::string_view bytes);

}  // namespace arborfs
