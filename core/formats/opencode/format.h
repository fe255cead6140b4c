// Sessions of OpenCode: in a database since version 1.2, in JSON files before. See FORMAT.md in this folder for the
// facts. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/store.h"

namespace arborfs::opencode {

/// The sessions in a database.
const Format& format();
/// Those in JSON files.
const Format& files_format();

/// OpenCode's default folder: $XDG_DATA_HOME/opencode, else ~/.local/share/opencode.
std::string own_dir();

/// The store in that folder, or in the database if `place` is one. The store of files is meant only if there is no
/// database. `is_own`: $OPENCODE_DB may name another database. `disk` outlives the store.
std::shared_ptr<arborfs::Store> make_store(const std::string& place, bool is_own, Disk& disk);

/// The stores beside that one which hold sessions too: the databases of other release channels, and the files, without
/// the sessions that are in a database (opencode/FORMAT.md A2). None beside a database that `place` names.
std::vector<BesideStore> make_stores_beside(const std::string& place, bool is_own, Disk& disk);

}  // namespace arborfs::opencode
