#include "core/os/leftover_files.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>

#include "core/base/clock.h"
#include "core/os/processes.h"
#include "core/os/temp_file.h"

namespace arborfs {

namespace {

/// A writer locks a folder at once after it has made it.
bool is_left_folder(const Dir& folder, const std::string& name, const FileStat& seen) {
  constexpr std::int64_t kBeingMadeNs = 100'000'000;
  const auto opened = folder.open_in(name);
  return opened && now_ns() - seen.mtime_ns > kBeingMadeNs && ::flock(opened->fd(), LOCK_EX | LOCK_NB) == 0;
}

/// False also for what is no regular file.
bool is_left_file(const Dir& folder, const std::string& name) {
  const auto file = File::open_in(folder, name);
  return file && !is_open_for_writing(*file, std::chrono::milliseconds(0));
}

}  // namespace

std::vector<std::string> leftover_files(const Dir& folder, const std::function<bool(std::string_view name)>& is_ours) {
  std::vector<std::string> found;
  const auto entries = folder.list();
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (entry.type != DT_REG || !(is_temporary_name(entry.name) || (is_ours && is_ours(entry.name)))) {
      continue;
    }
    if (is_left_file(folder, entry.name)) {
      found.push_back(entry.name);
    }
  }
  return found;
}

bool is_leftover(const Dir& folder, const std::string& name) {
  const bool is_temporary = is_temporary_name(name);
  if (!is_temporary && !is_removed_name(name)) {
    return false;
  }
  const auto seen = folder.stat(name);
  if (seen && S_ISDIR(seen->mode)) {
    return is_temporary && is_left_folder(folder, name, *seen);
  }
  return is_left_file(folder, name);
}

std::vector<std::string> leftovers_of_writers(const Dir& folder) {
  const auto entries = folder.list();
  std::vector<std::string> found;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (is_leftover(folder, entry.name)) {
      found.push_back(entry.name);
    }
  }
  return found;
}

}  // namespace arborfs
