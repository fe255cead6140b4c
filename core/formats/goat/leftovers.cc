#include "core/formats/goat/leftovers.h"

#include "core/base/clock.h"
#include "core/os/temporary_name.h"

namespace arborfs::goat {

std::vector<std::string> leftovers_in(const Dir& folder) {
  std::vector<std::string> found;
  const auto entries = folder.list();
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto st = is_temporary_name(entry.name) ? folder.stat(entry.name) : Result<FileStat>(Errc::not_found, "");
    if (st && now_ns() - st->mtime_ns > kMaybeInUseNs) {
      found.push_back(entry.name);
    }
  }
  return found;
}

}  // namespace arborfs::goat
