// Text decoding as the agents do it (WHATWG rules, omp/FORMAT.md A1). Pure functions, any thread.
//
// "WTF-8" below is UTF-8 in which a lone surrogate, which JSON text may spell \ud800, stands as its three-byte form
// (ED A0 80). Decoded input never holds that form by itself, so it is unambiguous.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace arborfs::json {

/// True when the bytes are well-formed UTF-8 (surrogates and overlong forms are not).
bool is_valid_utf8(std::string_view bytes);

/// The bytes with every maximal ill-formed part replaced by U+FFFD. A BOM is kept; the caller decides about it.
std::string decode_utf8(std::string_view bytes);

/// The text of a UTF-16LE file, whose leading FF FE the caller has dropped, as UTF-8, lone surrogates as U+FFFD.
std::string decode_utf16le(std::string_view bytes);

/// WTF-8 to UTF-8: each lone surrogate becomes U+FFFD. For anything that is shown or used as a name.
std::string replace_lone_surrogates(std::string_view wtf8);

/// Length in UTF-16 units of WTF-8 text, as JavaScript's String.length counts.
std::size_t utf16_length(std::string_view wtf8);

}  // namespace arborfs::json
