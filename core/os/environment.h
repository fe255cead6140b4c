// The process's environment, and the paths that it names. Any thread that does not race with setenv.
#pragma once

#include <string>

namespace arborfs {

/// "" if the variable is not set.
std::string environment_variable(const char* name);

/// The name of this machine, as `hostname` prints it; "unknown" if it has none.
std::string host_name();

/// Absolute and with links resolved as far as the path exists; the rest stays as spelled.
std::string resolved_path(const std::string& path);

/// Without `.`, `..` and a slash at the end; looks at no disk.
std::string normal_path(const std::string& path);

/// True for a folder itself and for what is below it; for normal paths. False if `folder` is "".
bool is_below(const std::string& path, const std::string& folder);

}  // namespace arborfs
