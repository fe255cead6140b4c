#include "fs/fuse/store_space.h"

#include <cerrno>

namespace arborfs {

struct statvfs space_of(std::string folder) {
  struct statvfs found {};
  while (::statvfs(folder.c_str(), &found) != 0) {
    const std::size_t slash = folder.find_last_of('/');
    if ((errno != ENOENT && errno != ENOTDIR) || slash == std::string::npos || folder == "/") {
      return {};
    }
    folder.resize(slash == 0 ? 1 : slash);
  }
  return found;
}

}  // namespace arborfs
