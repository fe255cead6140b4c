// Every system call that touches durable state, so that tests can make each of them fail, fall short, or be the last.
// The base class is the real disk; a test overrides what it wants to break. Thread-safe: it keeps no state.
//
// Names are one component, relative to an open folder, and never followed through a symbolic link (FAILURES.md S3,
// S15). Interrupted calls go on. Errors everywhere: what errno says (error_from_errno).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/unique_fd.h"
#include "core/os/file.h"

namespace arborfs {

class Disk {
 public:
  enum class Existing : std::uint8_t { keep, replace };

  virtual ~Disk() = default;
  static Disk& real();

  /// An existing regular file, for reading and appending. Errors also: corrupt when it is no regular file; busy when
  /// another process does not give up its lease on it.
  virtual Result<UniqueFd> open_append(const Dir& folder, const std::string& name);
  /// The same for writing in place (write_at).
  virtual Result<UniqueFd> open_update(const Dir& folder, const std::string& name);
  /// A new file; already_exists when the name is taken. `mode` is cut by the umask.
  virtual Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode);
  /// One write(2): how many bytes were taken, which may be fewer than given.
  virtual Result<std::size_t> write(int fd, std::string_view bytes);
  virtual Result<std::size_t> write_at(int fd, std::string_view bytes, std::uint64_t offset);
  virtual Result<void> set_mode(int fd, mode_t mode);
  /// When it was last changed, in nanoseconds since 1970; also of a folder.
  virtual Result<void> set_mtime(int fd, std::int64_t mtime_ns);
  virtual Result<void> truncate(int fd, std::uint64_t size);
  /// fdatasync(2). Never call it again after it failed and believe the answer (FAILURES.md P3).
  virtual Result<void> sync(int fd);
  virtual Result<void> sync_folder(const Dir& folder);
  /// Within one file system. With Existing::keep a taken name is already_exists. Where the file system cannot refuse
  /// taken names (FUSE, NFS), a file is linked to its new name and then unlinked, so that a crash may leave it both;
  /// only an empty folder that is made at the same moment can be lost there.
  virtual Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                              Existing existing);
  virtual Result<void> remove(const Dir& folder, const std::string& name);
  /// Already there is no error.
  virtual Result<void> make_folder(const Dir& folder, const std::string& name, mode_t mode);
  /// An empty one.
  virtual Result<void> remove_folder(const Dir& folder, const std::string& name);
  /// A symbolic link.
  virtual Result<void> make_link(const Dir& folder, const std::string& name, const std::string& target);
  /// Room for `bytes` on the folder's file system that nobody else can take while the descriptor is open. Invalid
  /// where the file system cannot do it.
  virtual Result<UniqueFd> reserve(const Dir& folder, std::uint64_t bytes);

 protected:
  /// renameat2(2) as it is: 0, or -1 and errno.
  virtual int rename_at(const Dir& from, const char* name, const Dir& to, const char* new_name, unsigned flags);
};

/// All of `bytes`, however many writes it takes. On an error some of them may have been written.
Result<void> write_all(Disk& disk, int fd, std::string_view bytes);

}  // namespace arborfs
