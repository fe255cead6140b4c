// The difference of two texts as a unified diff, which `patch` and `git apply` read. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs {

/// The names for the two header lines; "" for a file that does not exist.
struct DiffNames {
  std::string_view before;
  std::string_view after;
};

/// "" if the texts are equal. Time and memory are bounded: where the texts have little in common, the diff removes and
/// adds more lines than it must. A text with a NUL byte is binary: the diff only says that it differs.
std::string unified_diff(const DiffNames& names, std::string_view before, std::string_view after);

}  // namespace arborfs
