// In-place JSON parsing, for texts too long to be in memory twice. Any thread.
#pragma once

#include <span>

#include "core/json/document.h"

namespace arborfs::json {

/// Like parse(), but copies nothing: escapes are decoded in `text`, and the strings of `out` point into it. `text` must
/// be UTF-8 and must outlive `out`; its bytes are useless for anything else afterwards.
bool parse_in_place(std::span<char> text, Document& out);

}  // namespace arborfs::json
