// Which folders of a folder are other file systems: those may hang while it does not.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace arborfs {

/// The names in `folder` at which, or below which, something is mounted. Asks the kernel's list alone, so that it waits
/// for no file system but the one of `folder`.
std::set<std::string> mounts_below(const std::string& folder);

/// The same, of the text of /proc/self/mountinfo and for a path without links.
std::set<std::string> mounts_below(std::string_view mountinfo, const std::string& real_folder);

}  // namespace arborfs
