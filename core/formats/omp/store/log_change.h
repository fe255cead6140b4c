// Changes to the file store of omp and pi: the log under the agents' lock, drafts in its folder, renames of a log with
// all its files. One object is used by one thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/os/disk.h"
#include "core/store/log_writer.h"
#include "core/store/store.h"

namespace arborfs::omp {

/// The lock that the younger agents take around every append and every rename of a log (omp/FORMAT.md G4, G5): an
/// abstract socket, then the file `.<log>.lock` with pid and time. Held for the write only, never across a sync
/// (CONTRACT.md 5.5). If a process dies while it holds the lock, others are not blocked: the kernel closes the socket,
/// and the next process takes over the file at once. Two holders in one process exclude each other just as two
/// processes do.
class FileLock {
 public:
  /// How long the agents wait before they give up.
  static constexpr std::chrono::milliseconds kPatience{500};

  /// `folder_path` is the folder's absolute path as the agents spell it. `folder` is the same folder; it and `disk`
  /// must outlive the lock. Errors: busy if another process or thread holds the lock for longer than `patience`; io,
  /// permission, no_space.
  static Result<FileLock> take(Disk& disk, const Dir& folder, const std::string& folder_path,
                               const std::string& log_name, std::chrono::milliseconds patience = kPatience);
  /// Fails as take() would if the lock file is another process's and stays. Takes nothing.
  static Result<void> probe(const Dir& folder, const std::string& log_name);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  void release();

 private:
  FileLock(Disk& disk, const Dir& folder, UniqueFd gate, std::string file);
  Disk* disk_;
  const Dir* folder_;
  UniqueFd gate_;
  std::string file_;  // "" once released
};

std::string lock_file_name(const std::string& log_name);

/// Which gates are held at the moment. Any thread.
class GateProbe {
 public:
  GateProbe();
  /// True if some process owns the gate of this path, spelled as the agents spell it. Does not take the gate, so it
  /// blocks no other process.
  [[nodiscard]] bool is_held(const std::string& path) const;

 private:
  UniqueFd socket_;
};

/// The process that a lock file names; 0 if there is no file or it is malformed.
long lock_file_pid(const Dir& folder, const std::string& log_name);

/// `folder_path` is the absolute path of the log's folder, as the agents spell it.
Result<std::unique_ptr<LogWriter>> open_log_writer(Disk& disk, Dir folder, const std::string& folder_path,
                                                   const std::string& file);

/// Fails as open_log_writer() would, or as the first append, or the first replacement. Takes no lock.
Result<void> probe_log_writer(Disk& disk, Dir folder, const std::string& file, bool is_replaced);

/// `.<log>.<16 hex digits>.tmp`, which agents recognise as a rewrite in progress (omp/FORMAT.md F8). A different one on
/// each call.
std::string temporary_log_name(const std::string& file);

/// LogFiles::draft and redraft. `file`: the name that it will get in the folder.
Result<std::unique_ptr<TempFile>> start_draft(Disk& disk, Dir folder, const std::string& file, mode_t permissions);
Result<std::unique_ptr<TempFile>> start_redraft(Disk& disk, Dir folder, const std::string& file, const File& replaced);
Result<void> publish_draft(TempFile& draft, const std::string& file, Disk::Existing existing, bool sync);

/// The existing names in a folder that belong to a log, in byte order: the log, its artifacts, its backups. Errors:
/// those of listing.
Result<std::vector<std::string>> belonging_names(const Dir& folder, const std::string& file);

/// Renames a log with its artifacts and backups, to another folder or another name. On an error everything is renamed
/// back.
Result<void> move_log(Disk& disk, const Dir& from, const std::string& file, const Dir& to, const std::string& new_name);

}  // namespace arborfs::omp
