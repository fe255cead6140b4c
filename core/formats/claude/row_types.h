// The types of rows that say nothing to people, or whose words are shown elsewhere (claude/FORMAT.md B5). Pure; any
// thread.
#pragma once

#include <string_view>

namespace arborfs::claude {

bool is_bookkeeping(std::string_view type);

}  // namespace arborfs::claude
