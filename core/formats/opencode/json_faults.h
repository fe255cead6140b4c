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

/// What killed writers of arborfs left in the folders below `storage`, of which a store in a database has only one.
std::vector<FileFinding> leftovers_in(const std::string& storage);

}  // namespace arborfs::opencode
