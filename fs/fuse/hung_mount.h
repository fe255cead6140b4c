// A mount that does not answer: its daemon is stopped, or was killed while one of its threads invalidated a name and
// waited for a program that held the folder and waited for the daemon. The kernel ends such a connection only if it is
// told to.
#pragma once

#include <string>

#include "fs/fuse/mountpoint.h"

namespace arborfs {

/// False if the file system at `path` does not answer within five seconds.
bool answers(const std::string& path);

/// Ends the connection of a mount, so that programs that wait for it fail with ECONNABORTED or ENOTCONN. Does
/// nothing if this process may not: it needs the control files of FUSE, which belong to the user of the mount, or
/// CAP_SYS_ADMIN.
void abort_connection(const MountEntry& mount);

}  // namespace arborfs
