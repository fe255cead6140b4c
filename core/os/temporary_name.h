// The names of files and folders that arborfs fills before it moves them into place among those of an agent, and of
// those that it has moved away. They begin with a dot, so no agent takes them for its own. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace arborfs {

/// `unique` distinguishes the names of a folder, and is one component.
std::string temporary_name(std::string_view unique);
bool is_temporary_name(std::string_view name);

/// For a file that is being removed: it is examined under this name, and may have what another program wrote.
std::string removed_name(std::string_view unique);
bool is_removed_name(std::string_view name);

/// A file with such a name that was written later than this may still be filled.
inline constexpr std::int64_t kMaybeInUseNs = 60'000'000'000;

}  // namespace arborfs
