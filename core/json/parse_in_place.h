// JSON taken apart where it stands, for texts that are too long to be there twice. Any thread.
#pragma once

#include <span>

#include "core/json/document.h"

namespace arborfs::json {

/// parse() without a copy of anything: strings of `out` lie in `text`, in which escapes are replaced by what they mean.
/// The text must be UTF-8, is of no other use afterwards, and stays as long as `out`.
bool parse_in_place(std::span<char> text, Document& out);

}  // namespace arborfs::json
