// The lock that the younger agents take around every append and every rename of a log (omp/FORMAT.md G4, G5): an
// abstract socket, then the file `.<log>.lock` with pid and time. Held for the write only, never across a sync
// (CONTRACT.md 5.5). A process that dies with it held keeps nobody out: the socket goes with it and the file is taken
// over at once.
//
// One object is used by one thread. Two holders in one process exclude each other as two processes do.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/os/disk.h"

namespace arborfs {

class OmpFileLock {
 public:
  /// What the agents wait before they give up.
  static constexpr std::chrono::milliseconds kPatience{500};

  /// `folder_path` is the folder's absolute path as the agents spell it; `folder` is the same one, and outlives the
  /// lock. Errors: busy when somebody else holds it for longer than `patience`; io, permission, no_space.
  static Result<OmpFileLock> take(Disk& disk, const Dir& folder, const std::string& folder_path,
                                  const std::string& log_name, std::chrono::milliseconds patience = kPatience);
  ~OmpFileLock();
  OmpFileLock(OmpFileLock&& other) noexcept;
  OmpFileLock& operator=(OmpFileLock&&) = delete;
  OmpFileLock(const OmpFileLock&) = delete;
  OmpFileLock& operator=(const OmpFileLock&) = delete;
  void release();

 private:
  OmpFileLock(Disk& disk, const Dir& folder, UniqueFd gate, std::string file);
  Disk* disk_;
  const Dir* folder_;
  UniqueFd gate_;
  std::string file_;  // "" once released
};

std::string lock_file_name(const std::string& log_name);

/// Some process owns the gate of this path, as agents name it. Looked at, not touched: nobody is kept out by it.
bool is_gate_held(const std::string& path);

/// The process that a lock file names: 0 when there is none, or it is malformed.
struct LockFile {
  bool exists = false;
  long pid = 0;
};
LockFile read_lock_file(const Dir& folder, const std::string& log_name);

}  // namespace arborfs
