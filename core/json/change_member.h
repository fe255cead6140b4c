// Changes one member in a text that may be no JSON object. For one that is, skim::set_member (json_cursor.h). Pure; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace arborfs::json {

/// `object` (the text of one JSON object) with the member set to `value_json`, in its place or at the end, or removed
/// if `value_json` is nothing. All other bytes are unchanged. Errors: invalid_argument if it is not an object.
Result<std::string> change_member(std::string_view object, std::string_view key,
                                  std::optional<std::string_view> value_json);

}  // namespace arborfs::json
