// Files and folders of a store, opened relative to a folder that is already open, never blocking on a FIFO
// (FAILURES.md S3, S15; CONTRACT.md 8.3). open_in() never passes a symbolic link; the functions called follow… do, for
// logs and folders of logs, which people link.
// All reads from the disk go through this header; all writes go through disk.h. Threads may share objects: every call
// is positional.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/base/unique_fd.h"

namespace arborfs {

/// The fields of stat(2) that arborfs uses. Times are nanoseconds since 1970.
struct FileStat {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t links = 0;  // the names of the file: hard links. A further one is no change of the file.
  bool operator==(const FileStat& other) const {
    const auto facts = [](const FileStat& st) {
      return std::tie(st.dev, st.ino, st.size, st.mtime_ns, st.mode, st.uid);
    };
    return facts(*this) == facts(other);
  }
  [[nodiscard]] bool same_file(const FileStat& other) const { return dev == other.dev && ino == other.ino; }
};

class Dir;

/// A regular file open for reading.
class File {
 public:
  /// `name` is one component. `seen`, unless null, receives the open file's stat. Errors: not_found, permission (or a
  /// symbolic link), corrupt if it is not a regular file, busy if no descriptors are left.
  static Result<File> open_in(const Dir& dir, const std::string& name, FileStat* seen = nullptr);

  /// The same, but a symbolic link is followed wherever it leads. Errors also: those of end_of_link (links.h).
  static Result<File> follow_in(const Dir& dir, const std::string& name, FileStat* seen = nullptr);

  /// Wraps the descriptor of a regular file that was opened elsewhere.
  static File of(UniqueFd fd) { return File(std::move(fd)); }

  [[nodiscard]] Result<FileStat> stat() const;
  /// Reads until `into` is full or the file ends; returns how many bytes were read. Errors: io.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const;
  /// Reads `size` bytes, fewer if the file ends before. Errors: io.
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t size) const;
  /// For passing to the kernel (splice); this object still owns it.
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Transfers ownership of the descriptor to the caller.
  [[nodiscard]] UniqueFd take() && { return std::move(fd_); }

 private:
  explicit File(UniqueFd fd) : fd_(std::move(fd)) {}
  static Result<File> of_regular(UniqueFd fd, FileStat* seen);
  UniqueFd fd_;
};

struct DirEntry {
  std::string name;
  unsigned char type = 0;  // DT_REG, DT_DIR, DT_LNK, ... ; never DT_UNKNOWN
};

/// An open folder. Move-only.
class Dir {
 public:
  /// Opens the configured root; symbolic links on the way are followed.
  static Result<Dir> open_root(const std::string& path);
  /// The same as open_root(root) and then open_in(name), in one system call.
  static Result<Dir> open_below_root(const std::string& root, const std::string& name);
  /// Opens a folder in this one. `name` is one component; a symbolic link is not followed.
  [[nodiscard]] Result<Dir> open_in(const std::string& name) const;
  /// The same, but a symbolic link is followed wherever it leads. Errors also: those of end_of_link (links.h).
  [[nodiscard]] Result<Dir> follow(const std::string& name) const;
  /// The same as open_root(root) and then follow(name).
  static Result<Dir> follow_below_root(const std::string& root, const std::string& name);
  /// True if a follow() on the way to this folder passed a link.
  [[nodiscard]] bool is_linked() const { return is_linked_; }
  /// All entries but "." and "..", sorted by the bytes of their names.
  [[nodiscard]] Result<std::vector<DirEntry>> list() const;
  /// lstat of a name in this folder.
  [[nodiscard]] Result<FileStat> stat(const std::string& name) const;
  /// stat of what a name in this folder leads to, through a symbolic link if it is one. Errors also: those of
  /// end_of_link (links.h).
  [[nodiscard]] Result<FileStat> stat_end(const std::string& name) const;
  /// stat of what open_root() would open.
  [[nodiscard]] static Result<FileStat> stat_root(const std::string& path);
  [[nodiscard]] Result<FileStat> stat() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit Dir(UniqueFd fd, bool is_linked = false) : fd_(std::move(fd)), is_linked_(is_linked) {}
  static Result<Dir> open_at(int base, const std::string& before, const std::string& name);
  UniqueFd fd_;
  bool is_linked_ = false;
};

/// The target of the symbolic link at `path`; nothing if there is no link that can be read. Follows links in the
/// folders before the last name, but accesses no file system that is mounted on it, so one that hangs cannot stop the
/// caller.
std::optional<std::string> link_target(const std::string& path);

/// The path of an open file or folder, as the kernel has it: without links; "" if it has no name, or /proc cannot be
/// read.
std::string path_of(int fd);

/// Takes the flock(2) of an open file or folder, which lasts until its descriptors are closed. Waits as long as
/// `patience`, and never in the kernel; false if another process or thread holds it then. Errors: those of flock(2).
Result<bool> wait_for_flock(int fd, std::chrono::milliseconds patience);

/// True if the name may be looked up in a Dir: one component of at most 255 bytes, not "", ".", "..", no '/', no NUL.
bool is_plain_name(std::string_view name);

// The hash of a file's bytes. Any thread.

/// SHA-256 of the whole file as 64 lower-case hex digits; reads the file in steps. Errors: io.
Result<std::string> sha256_of(const File& file);

// A nameless file for bytes that are too many for the memory and that can be computed again: nothing of it stays when
// the process ends, however it ends. Any thread.

/// Opens an empty one for reading and writing in $TMPDIR, else in /tmp. Errors: those of creating a file there.
Result<UniqueFd> make_scratch_file();

}  // namespace arborfs
