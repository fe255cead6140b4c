// Files and folders of a store, opened so that nothing in the store can lead elsewhere: relative to a folder that is
// already open, never through a symbolic link, never blocking on a FIFO (FAILURES.md S3, S15; CONTRACT.md 8.3).
// The only door to the disk for reading; disk.h is the one for writing. Objects may be shared by threads: every call is
// positional.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/unique_fd.h"

namespace arborfs {

/// What stat(2) says, reduced to what arborfs compares. Times are nanoseconds since 1970.
struct FileStat {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  bool operator==(const FileStat&) const = default;
  [[nodiscard]] bool same_file(const FileStat& other) const { return dev == other.dev && ino == other.ino; }
};

class Dir;

/// A regular file open for reading.
class File {
 public:
  /// `name` is one component. Errors: not_found, permission (also for a symbolic link), corrupt when it is no regular
  /// file, busy when descriptors ran out. `seen`, unless null, gets what stat said of the open file.
  static Result<File> open_in(const Dir& dir, const std::string& name, FileStat* seen = nullptr);

  /// A descriptor of a regular file that was opened elsewhere.
  static File of(UniqueFd fd) { return File(std::move(fd)); }

  [[nodiscard]] Result<FileStat> stat() const;
  /// Reads until `into` is full or the file ends; returns how many bytes came. Errors: io.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const;
  /// At most `size` bytes, fewer where the file ends. Errors: io.
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t size) const;
  /// For handing to the kernel (splice); stays owned by this object.
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Gives the descriptor away.
  [[nodiscard]] UniqueFd take() && { return std::move(fd_); }

 private:
  explicit File(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

struct DirEntry {
  std::string name;
  unsigned char type = 0;  // DT_REG, DT_DIR, DT_LNK, ... ; never DT_UNKNOWN
};

/// An open folder. Cheap to copy references to, not to copy.
class Dir {
 public:
  /// The configured root: symbolic links are followed here and nowhere else.
  static Result<Dir> open_root(const std::string& path);
  /// The same as open_in of open_root, in one step.
  static Result<Dir> open_below_root(const std::string& root, const std::string& name);
  /// A folder in this one, `name` being one component, not through a symbolic link.
  [[nodiscard]] Result<Dir> open_in(const std::string& name) const;
  /// Everything but "." and "..", in byte order of names.
  [[nodiscard]] Result<std::vector<DirEntry>> list() const;
  /// lstat of a name in it.
  [[nodiscard]] Result<FileStat> stat(const std::string& name) const;
  /// Of what open_root() would open.
  [[nodiscard]] static Result<FileStat> stat_root(const std::string& path);
  [[nodiscard]] Result<FileStat> stat() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit Dir(UniqueFd fd) : fd_(std::move(fd)) {}
  static Result<Dir> open_at(int base, const std::string& before, const std::string& name);
  UniqueFd fd_;
};

/// True when the name may be looked up in a Dir: one component, not "", ".", "..", no '/' and no NUL.
bool is_plain_name(std::string_view name);

}  // namespace arborfs
