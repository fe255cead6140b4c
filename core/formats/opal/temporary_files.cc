#include "core/formats/opal/temporary_files.h"

#include <sys/file.h>

#include "core/os/temp_file.h"

namespace arborfs::opal {

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
