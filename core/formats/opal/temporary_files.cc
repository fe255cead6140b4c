#include "core/formats/opal/temporary_files.h"

#include <sys/file.h>

namespace arborfs::opal {
namespace {

constexpr std::string_view kBegin = ".arborfs-";
constexpr std::string_view kEnd = ".tmp";

bool is_temporary_name(std::string_view name) {
  return name.size() > kBegin.size() + kEnd.size() && name.starts_with(kBegin) && name.ends_with(kEnd);
}

}  // namespace

std::string temporary_name(std::string_view unique) {
  return std::string(kBegin) + std::string(unique) + std::string(kEnd);
}

void each_leftover(const Dir& folder, const std::function<void(const std::string& name)>& found) {
  const auto entries = folder.list();
  if (!entries) {
    return;
  }
  for (const DirEntry& entry : *entries) {
    if (!is_temporary_name(entry.name)) {
      continue;
    }
    const auto file = File::open_in(folder, entry.name);
    if (file && ::flock(file->fd(), LOCK_EX | LOCK_NB) == 0) {
      found(entry.name);
    }
  }
}

}  // namespace arborfs::opal
