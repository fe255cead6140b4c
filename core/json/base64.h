// Base64 as Node's Buffer decodes it (omp/FORMAT.md D3). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace arborfs::json {

/// Accepts both alphabets, missing padding and stray characters; stops at the first '='.
std::string decode_base64(std::string_view text);

/// The length of decode_base64(text), computed without decoding.
std::uint64_t decoded_base64_size(std::string_view text);

/// Standard alphabet, padded.
std::string encode_base64(std::string_view bytes);

}  // namespace arborfs::json
