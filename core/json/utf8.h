// Text decoding as the agents do it (WHATWG rules, omp/FORMAT.md A1). Pure functions, any thread.
//
// "WTF-8" below is UTF-8 that also has a three-byte form (ED A0 80) for lone surrogates, which JSON text may spell
// \ud800. Decoding never produces that form, so it is unambiguous.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace arborfs::json {

/// True if the bytes are well-formed UTF-8 (surrogates and overlong forms are not).
bool is_valid_utf8(std::string_view bytes);

/// Replaces every maximal ill-formed part with U+FFFD. Keeps a BOM; the caller decides what to do with it.
std::string decode_utf8(std::string_view bytes);

/// The bytes themselves if they are well-formed UTF-8, else what decode_utf8() makes of them.
std::string as_utf8(std::string bytes);

/// The length of an incomplete sequence at the end of `bytes` whose rest may still follow; 0 if there is none.
std::size_t cut_at_end(std::string_view bytes);

/// The beginning of UTF-8 text in at most `most` bytes, without a part of a character; it refers to the same bytes.
std::string_view whole_characters(std::string_view text, std::size_t most);

/// Converts the text of a UTF-16LE file to UTF-8, lone surrogates to U+FFFD. The caller has dropped the leading FF FE.
std::string decode_utf16le(std::string_view bytes);

/// Replaces every maximal ill-formed part of WTF-8 text with U+FFFD; lone surrogates stay.
std::string decode_wtf8(std::string_view bytes);

/// Converts WTF-8 to UTF-8: each lone surrogate becomes U+FFFD. For any text that is shown or used as a name.
std::string replace_lone_surrogates(std::string_view wtf8);

/// The length of WTF-8 text in UTF-16 units, like JavaScript's String.length.
std::size_t utf16_length(std::string_view wtf8);

}  // namespace arborfs::json

namespace arborfs {

/// Text without the difference between upper and lower case, as `rg -i` compares it: each character of UTF-8 text in
/// its form of Unicode's simple case folding. Other bytes stay as they are. The result may have another length.
std::string folded(std::string_view text);
void append_folded(std::string_view text, std::string& out);

}  // namespace arborfs
