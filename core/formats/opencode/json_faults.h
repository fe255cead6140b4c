// Finds faults of OpenCode's store of files. Changes nothing. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/formats/opencode/session_archive.h"
#include "core/store/finding.h"

namespace arborfs::opencode {

/// Files of a session that are not JSON objects, and prompts without a part. `storage` is the folder of all files.
std::vector<Finding> faults_of_files(const std::string& storage, const SessionName& session);

/// Files of projects that are not JSON objects.
std::vector<FileFinding> faults_of_projects(const std::string& storage);

/// True for the name of a file that arborfs writes among those of OpenCode and that does not have its own name yet
/// (opencode/FORMAT.md F).
bool is_draft_name(std::string_view name);

/// The name, in the storage, of the note of what a fork writes for this session (write/fork_note.h).
std::string fork_note_name(std::string_view session);
/// The notes of forks whose writers were killed: none has it locked.
std::vector<std::string> killed_forks_in(const Dir& storage);

std::vector<FileFinding> leftovers_in(const std::string& storage);

}  // namespace arborfs::opencode
