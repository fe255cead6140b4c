// Characters that must not reach a terminal, because they hide, turn or escape the text around them.
#pragma once

#include <string_view>

namespace arborfs::fuzz {

/// Aborts at a control character that is not in `allowed`, or at an invisible or direction-changing one.
void check_visible(std::string_view text, std::string_view allowed = "");

}  // namespace arborfs::fuzz
