// Finds faults of OpenCode's store of files. Changes nothing. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/opencode/session_archive.h"
#include "core/store/finding.h"

namespace arborfs::opencode {

/// Files of a session that are not JSON objects, and prompts without a part. `storage` is the folder of all files.
std::vector<Finding> faults_of_files(const std::string& storage, const SessionName& session);

/// Files of projects that are not JSON objects.
std::vector<FileFinding> faults_of_projects(const std::string& storage);

}  // namespace arborfs::opencode
