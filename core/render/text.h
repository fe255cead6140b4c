// The text of an entry as people read it, and the rules that keep such texts safe and bounded. Terminal escapes and
// other control characters are made visible, not sent (CONTRACT.md 2.5, FAILURES.md S4). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

class RecordRenderer;  // record_renderer.h

/// Entries longer than this are not parsed for their text, which is one line that says so. The same holds for those
/// over 8 MiB with more than half a million values, which would take many times their size in memory.
inline constexpr std::uint64_t kMaxRenderedEntry = std::uint64_t{64} << 20U;

/// The text of an entry of `length` bytes at `offset` of a log; does not read the entry if it is too long. `length` is
/// LogIndex::length; lengths that do not fit in Entry::length all give the same text. Errors: stale, io.
Result<std::string> read_text(const RecordRenderer& renderer, const LogSource& log, EntryType type,
                              std::uint64_t offset, std::uint64_t length);
/// Appends the text of an entry longer than kMaxRenderedEntry.
void render_too_long(std::uint64_t length, std::string& out);
/// The size of the text that render_too_long appends.
std::uint64_t too_long_size(std::uint64_t length);
/// The first words of it.
std::string first_words_of_too_long(std::uint64_t length, std::size_t columns);

/// The first words of a text as one line for draw_tree and listings, at most `columns` characters; `text` is the
/// beginning of an unfiltered text.
std::string first_line_of(std::string_view text, std::size_t columns);

/// Shows control characters except newline and tab, C1, bidirectional and zero-width characters as \u{..} or ^X; bytes
/// that are not UTF-8 and lone surrogates as U+FFFD.
std::string visible(std::string_view wtf8);
/// The same on one line: newlines and tabs become spaces; cut to `columns` characters with an ellipsis.
std::string visible_line(std::string_view wtf8, std::size_t columns);

}  // namespace arborfs
