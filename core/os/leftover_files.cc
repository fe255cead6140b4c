#include "core/os/leftover_files.h"

#include <dirent.h>

#include <chrono>

#include "core/os/processes.h"
#include "core/os/temporary_name.h"

namespace arborfs {

std::vector<std::string> leftover_files(const Dir& folder, const std::function<bool(std::string_view name)>& is_ours) {
  std::vector<std::string> found;
  const auto entries = folder.list();
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (entry.type != DT_REG || !(is_temporary_name(entry.name) || (is_ours && is_ours(entry.name)))) {
      continue;
    }
    const auto file = File::open_in(folder, entry.name);
    if (file && !is_open_for_writing(*file, std::chrono::milliseconds(0))) {
      found.push_back(entry.name);
    }
  }
  return found;
}

}  // namespace arborfs
