// Checks the escapes in JSON text, many bytes at a time. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/simd_classify.h"

namespace arborfs::json {

/// Bytes that must be readable after the text; their values do not matter.
inline constexpr std::size_t kEscapePadding = 64;
static_assert(kEscapePadding >= kMarkPadding);

/// True if every backslash starts one of JSON's escapes or is escaped by the one before it. All backslashes in `text`
/// must be inside terminated strings. Escaped lone surrogates are valid (RFC 8259, 8.2).
bool has_valid_escapes(std::string_view text);

/// The bytes that may follow the backslash in a two-byte escape, which is any escape but \u.
inline constexpr ByteSets kSimpleEscapes("\"\\/bfnrt");

}  // namespace arborfs::json
