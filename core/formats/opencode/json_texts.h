// The texts of OpenCode's files `<id>.json` (opencode/FORMAT.md F1). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"

namespace arborfs::opencode {

/// The ids of the files `<id>.json`, in byte order; none if there is no such directory.
std::vector<std::string> ids_in(const Result<Dir>& dir);

/// The file's text; "" if there is none that can be read, or if it is longer than 64 MiB.
std::string text_in(const Dir& dir, std::string_view id);
std::string text_in(const Result<Dir>& dir, std::string_view id);

}  // namespace arborfs::opencode
