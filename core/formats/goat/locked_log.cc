#include "core/formats/goat/locked_log.h"

#include <chrono>
#include <utility>

#include "core/base/error.h"

namespace arborfs::goat {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr mode_t kLockMode = 0600;
constexpr mode_t kLogMode = 0644;

/// False if the lock file has been replaced since it was opened with this stat.
Result<bool> is_still_named(const Dir& folder, const std::string& name, const FileStat& locked) {
  const auto named = folder.stat(name);
  if (!named && named.error().code != Errc::not_found) {
    return named.error();
  }
  return named && named->same_file(locked);
}

std::unique_ptr<LogWriter> writer_under(UniqueFd lock, Disk& disk, std::shared_ptr<const Dir> folder,
                                        const std::string& file, File log, const FileStat& stat, bool is_made) {
  return std::make_unique<LogWriter>(disk, std::move(folder), file, std::make_shared<const UniqueFd>(std::move(lock)),
                                     std::move(log), stat, is_made);
}

}  // namespace

std::string lock_file_of(const std::string& file) {
  return file + ".lock";
}

Result<UniqueFd> take_lock(Disk& disk, const Dir& folder, const std::string& file) {
  const std::string name = lock_file_of(file);
  for (;;) {
    bool is_made = false;
    ASSIGN_OR_RETURN(auto lock, open_or_create(disk, folder, name, kLockMode, is_made));
    ASSIGN_OR_RETURN(const bool is_taken, wait_for_flock(lock.fd(), kPatience));
    if (!is_taken) {
      return Error{Errc::busy, "another program holds " + name + "; try again"};
    }
    ASSIGN_OR_RETURN(const auto locked, lock.stat());
    ASSIGN_OR_RETURN(const bool is_valid, is_still_named(folder, name, locked));
    if (is_valid) {
      return std::move(lock).take();
    }
  }
}

Result<std::unique_ptr<LogWriter>> lock_log(Disk& disk, std::shared_ptr<const Dir> folder, const std::string& file) {
  ASSIGN_OR_RETURN(auto lock, take_lock(disk, *folder, file));
  bool is_made = false;
  ASSIGN_OR_RETURN(auto log, open_or_create(disk, *folder, file, kLogMode, is_made));
  ASSIGN_OR_RETURN(const auto stat, log.stat());
  return writer_under(std::move(lock), disk, std::move(folder), file, std::move(log), stat, is_made);
}

std::unique_ptr<LogWriter> try_lock_log(Disk& disk, std::shared_ptr<const Dir> folder, const std::string& file) {
  const std::string name = lock_file_of(file);
  FileStat locked;
  auto lock = File::open_in(*folder, name, &locked);
  const auto is_taken = lock ? wait_for_flock(lock->fd(), std::chrono::milliseconds(0)) : Result<bool>(false);
  if (!is_taken || !*is_taken) {
    return nullptr;
  }
  const auto is_valid = is_still_named(*folder, name, locked);
  if (!is_valid || !*is_valid) {
    return nullptr;
  }
  FileStat stat;
  auto log = File::open_in(*folder, file, &stat);
  if (!log) {
    return nullptr;
  }
  return writer_under(std::move(*lock).take(), disk, std::move(folder), file, std::move(*log), stat, false);
}

}  // namespace arborfs::goat
