// Titles of agents that store them unchanged except for control characters. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace arborfs {

inline constexpr std::size_t kLongestTitle = std::size_t{64} << 10U;

/// Control characters become spaces; spaces at both ends are removed.
std::string one_line_title(std::string_view title);

/// The same for a title that a user sets. Errors: not_utf8, invalid_argument (nothing is left), too_large.
Result<std::string> checked_title(std::string_view title);

}  // namespace arborfs
