// Where arborfs keeps what belongs in no store: $XDG_STATE_HOME/arborfs, else ~/.local/state/arborfs, and the trash
// under $XDG_DATA_HOME/arborfs. Folders are made when first needed, for their owner alone (FIELD-FAILURES S12). Reads
// the environment; any thread that does not race with setenv.
#pragma once

#include <string>

#include "core/env/disk.h"

namespace arborfs {

/// `below` is one component such as "leaves".
std::string state_path(const std::string& below);
std::string data_path(const std::string& below);
/// Makes the folder and those above it that are missing, with mode 0700, and opens it. With `sync` the new names are on
/// the disk when it returns.
Result<Dir> make_private_folder(Disk& disk, const std::string& path, bool sync = true);

}  // namespace arborfs
