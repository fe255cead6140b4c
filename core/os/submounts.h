// Finds mounts that may hang, although other folders do not: those below a folder, and file systems that another
// process or machine serves.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace arborfs {

/// The names in `folder` at or below which something is mounted. Uses only the kernel's mount list, so it waits for no
/// file system but that of `folder`.
std::set<std::string> mounts_below(const std::string& folder);

/// The same, from the text of /proc/self/mountinfo and for a path without symbolic links.
std::set<std::string> mounts_below(std::string_view mountinfo, const std::string& real_folder);

/// The mount points of file systems that another process or another machine serves (FUSE, network). Without /: if that
/// hangs, so does every program. Waits for no file system.
std::set<std::string> mounts_served_elsewhere();
/// The same, from the text of /proc/self/mountinfo.
std::set<std::string> mounts_served_elsewhere(std::string_view mountinfo);

/// The places where file systems of this type are mounted, such as "fuse.arborfs". Waits for no file system.
std::set<std::string> mount_points_of(std::string_view type);
/// The same, from the text of /proc/self/mountinfo.
std::set<std::string> mount_points_of(std::string_view mountinfo, std::string_view type);

}  // namespace arborfs
