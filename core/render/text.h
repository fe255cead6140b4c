// What a person would read of one entry. One renderer serves bytes and sizes: with a counting sink it tells the exact
// size of the text without making it (listing a folder needs the sizes of its files).
// Terminal escapes and other control characters are made visible, not sent (CONTRACT.md 2.5, FAILURES.md S4).
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

/// Entries longer than this are not parsed for their text: it is one line that says so. Nor are those of more than 8
/// MiB that hold more than half a million values, which would take many times their size.
inline constexpr std::uint64_t kMaxRenderedEntry = std::uint64_t{64} << 20U;

/// The text of one entry: its JSON value `raw` as it stands in the log. Appended to `out`. Readable for every type; an
/// entry of an unknown type shows its JSON pretty enough to read. Ends with exactly one newline; that newline alone
/// for an entry without text.
void render_text(EntryType type, std::string_view raw, std::string& out);
/// The size of that text.
std::uint64_t text_size(EntryType type, std::string_view raw);

/// The text of an entry of `length` bytes at `offset` of a log, without reading it when it is too long. `length` is
/// LogIndex::length; lengths that do not fit in Entry::length all give the same text. Errors: stale, io.
Result<std::string> read_text(const LogFile& log, EntryType type, std::uint64_t offset, std::uint64_t length);
/// Appends the text of an entry longer than kMaxRenderedEntry.
void render_too_long(std::uint64_t length, std::string& out);

/// The first words of that text as one line for draw_tree and listings, at most `columns` characters.
std::string first_words(EntryType type, std::string_view raw, std::size_t columns);

/// Control characters but newline and tab, C1, bidirectional and zero-width characters as visible \u{..} or ^X
/// spellings; bytes that are not UTF-8 and lone surrogates as U+FFFD.
std::string visible(std::string_view wtf8);
/// The same on one line: newlines and tabs become spaces; cut to `columns` characters with an ellipsis.
std::string visible_line(std::string_view wtf8, std::size_t columns);

}  // namespace arborfs
