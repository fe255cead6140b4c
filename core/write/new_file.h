// Files of new sessions, which let other users do nothing that they cannot do with the session that they are made from.
// Their ids, and what killed processes left of them. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/os/disk.h"
#include "core/session/session.h"

namespace arborfs {

/// Opens the folder that has these components below `root`; creates missing ones with `mode`.
Result<Dir> make_folders(Disk& disk, const std::string& root, const std::vector<std::string>& parts, mode_t mode,
                         bool sync);

/// The permissions of the session's file, less those that the folders above it up to its agent's take from the group
/// and from others. Those of the owner are all there, so that an agent that makes a file with its own mode makes it
/// with `mode & permissions_of(source)`. A session whose file cannot be examined is private.
mode_t permissions_of(const Session& session);

/// Removes the files that killed processes left in a folder under temporary names (temp_file.h), or that
/// `is_ours` accepts: those that are older than a minute and that no process has open for writing.
void remove_leftovers(Disk& disk, const Dir& folder, const std::function<bool(std::string_view)>& is_ours = nullptr);

/// A random UUID of version 4, for new records and sessions. Errors: io.
Result<std::string> new_uuid();
/// The same of version 7, which begins with a time, in milliseconds since 1970. Errors: io.
Result<std::string> new_uuid_of_time(std::int64_t time_ms);
/// The same, but always the same one for the same content.
std::string uuid_of_time(std::int64_t time_ms, std::string_view content);

}  // namespace arborfs
