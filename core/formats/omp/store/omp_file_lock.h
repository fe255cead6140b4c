// The lock that the younger agents take around every append and every rename of a log (omp/FORMAT.md G4, G5): an
// abstract socket, then the file `.<log>.lock` with pid and time. Held for the write only, never across a sync
// (CONTRACT.md 5.5). If a process dies while it holds the lock, others are not blocked: the kernel closes the socket,
// and the next process takes over the file at once.
//
// An object is used by one thread. Two holders in one process exclude each other just as two processes do.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "core/os/disk.h"

namespace arborfs {

class OmpFileLock {
 public:
  /// How long the agents wait before they give up.
  static constexpr std::chrono::milliseconds kPatience{500};

  /// `folder_path` is the folder's absolute path as the agents spell it. `folder` is the same folder; it and `disk`
  /// must outlive the lock. Errors: busy if another process or thread holds the lock for longer than `patience`; io,
  /// permission, no_space.
  static Result<OmpFileLock> take(Disk& disk, const Dir& folder, const std::string& folder_path,
                                  const std::string& log_name, std::chrono::milliseconds patience = kPatience);
  /// Fails as take() would if the lock file is another process's and stays. Takes nothing.
  static Result<void> probe(const Dir& folder, const std::string& log_name);
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

/// Which gates are held at the moment: asks the kernel for a few, and lists them all for many. Any thread.
class GateProbe {
 public:
  GateProbe();
  /// True if some process owns the gate of this path, spelled as the agents spell it. Does not take the gate, so it
  /// blocks no other process.
  [[nodiscard]] bool is_held(const std::string& path) const;

 private:
  UniqueFd socket_;
  mutable std::atomic<int> asked_{0};
  mutable std::once_flag once_;
  mutable std::optional<std::set<std::string, std::less<>>>
      held_;  // names of sockets; nothing if they cannot be listed
};

/// The process that a lock file names; `pid` is 0 if there is no file or it is malformed.
struct LockFile {
  bool exists = false;
  long pid = 0;
};
LockFile read_lock_file(const Dir& folder, const std::string& log_name);

}  // namespace arborfs
