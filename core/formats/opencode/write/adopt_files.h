// A conversation of another agent as files of OpenCode up to 1.1 (opencode/FORMAT.md A1, G5). Any thread.
#pragma once

#include <string>

#include "core/formats/opencode/write/adopted_session.h"
#include "core/os/disk.h"

namespace arborfs::opencode {

struct AdoptedPlace {
  std::string project;
  std::string session;
};

/// Writes parts before their message and the session last, so that OpenCode sees all of it or nothing. On an error the
/// written files are removed again, and after a kill by the next writer (fork_note.h). `storage` is the folder with all
/// of OpenCode's files. Errors: no_space, io; busy if another arborfs process holds the folder for longer than the
/// wait.
Result<AdoptedPlace> adopt_in_files(Disk& disk, const std::string& storage, const Conversation& conversation, bool sync,
                                    AsText& counts);

}  // namespace arborfs::opencode
