// Base64 as Node's Buffer decodes it (omp/FORMAT.md D3). Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace arborfs::json {

inline constexpr std::string_view kBase64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
inline constexpr std::uint8_t kNoBase64 = 0xFF;
/// The value of each digit of both alphabets; kNoBase64 for other bytes.
inline constexpr std::array<std::uint8_t, 256> kBase64Values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoBase64);
  for (std::size_t i = 0; i < kBase64Alphabet.size(); ++i) {
    values[static_cast<unsigned char>(kBase64Alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  values['-'] = 62;
  values['_'] = 63;
  return values;
}();

/// Accepts both alphabets, missing padding and stray characters; stops at the first '='.
std::string decode_base64(std::string_view text);

/// The length of decode_base64(text), computed without decoding.
std::uint64_t decoded_base64_size(std::string_view text);

/// Standard alphabet, padded.
std::string encode_base64(std::string_view bytes);

}  // namespace arborfs::json
