// Files of new sessions: each gets its name only when it is completely written. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"

namespace arborfs {

/// Opens the folder that has these components below `root`; creates missing ones with `mode`.
Result<Dir> make_folders(Disk& disk, const std::string& root, const std::vector<std::string>& parts, mode_t mode,
                         bool sync);

struct NewFile {
  std::string name;
  mode_t mode = 0600;
};

/// Writes a file under a name that begins with a dot, and renames it. If it fails it leaves nothing, unless only the
/// sync of the folder failed. Errors: already_exists, no_space, over_quota, io.
Result<void> write_new_file(Disk& disk, const Dir& folder, const NewFile& file, std::string_view bytes, bool sync);

}  // namespace arborfs
