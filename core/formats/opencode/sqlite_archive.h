// The sessions in OpenCode's database (opencode/FORMAT.md B). Its tables with tokens and secrets are never read.
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/formats/opencode/session_archive.h"
#include "core/os/disk.h"

namespace arborfs::opencode {

/// `path` is that of the database, which need not exist. `disk` outlives the archive.
std::unique_ptr<SessionArchive> make_sqlite_archive(std::string path, Disk& disk);

}  // namespace arborfs::opencode
