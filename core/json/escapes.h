// Checks the escapes of JSON text many bytes at a time. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace arborfs::json {

/// Bytes that must be readable behind the text, of any value.
inline constexpr std::size_t kEscapePadding = 64;

/// True when every backslash starts one of JSON's escapes or is escaped by the one before it. For text whose
/// backslashes all stand in strings that end. Escaped halves of surrogate pairs may stand alone (RFC 8259, 8.2).
bool has_valid_escapes(std::string_view text);

}  // namespace arborfs::json
