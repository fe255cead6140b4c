// The sessions in OpenCode's JSON files (opencode/FORMAT.md F): storage/session, message, part, todo, session_diff and
// project. Files with secrets are never read. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/formats/opencode/moved_sessions.h"
#include "core/formats/opencode/session_archive.h"

namespace arborfs::opencode {

/// `storage` need not exist. Sessions that are `moved` are left out.
std::unique_ptr<SessionArchive> make_json_archive(std::string storage,
                                                  std::unique_ptr<const MovedSessions> moved = nullptr);

}  // namespace arborfs::opencode
