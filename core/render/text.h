// What a person would read of one entry. One renderer serves bytes and sizes: with a counting sink it tells the exact
// size of the text without making it (PERF: sizes must be known when a folder is listed).
// Terminal escapes and other control characters are made visible, not sent (DESIGN 2, FIELD-FAILURES S4).
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

/// The text of one entry: its JSON value `raw` as it stands in the log. Ends with a newline. Readable for every type;
/// an entry of an unknown type shows its JSON pretty enough to read. Empty only for empty text.
void render_text(EntryType type, std::string_view raw, std::string& out);
/// The size of that text.
std::uint64_t text_size(EntryType type, std::string_view raw);

/// Control characters but newline and tab, C1, bidirectional and zero-width characters as visible \u{..} or ^X
/// spellings; bytes that are not UTF-8 and lone surrogates as U+FFFD.
std::string visible(std::string_view wtf8);
/// The same on one line: newlines and tabs become spaces; cut to `columns` characters with an ellipsis.
std::string visible_line(std::string_view wtf8, std::size_t columns);

}  // namespace arborfs
