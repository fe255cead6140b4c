#include "core/json/base64.h"

namespace arborfs::json {
namespace {

std::uint32_t value_of(char c) {
  return kBase64Values[static_cast<unsigned char>(c)];
}

char low_byte(std::uint32_t bits) {
  return static_cast<char>(static_cast<unsigned char>(bits & 0xFF));
}

}  // namespace

std::string decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  int digits = 0;  // of the group of four being read
  for (const char c : text.substr(0, text.find('='))) {
    const std::uint32_t value = value_of(c);
    if (value == kNoBase64) {
      continue;
    }
    bits = bits << 6 | value;
    digits = (digits + 1) % 4;
    if (digits != 1) {
      out.push_back(low_byte(bits >> (4 - digits) % 4 * 2));
    }
  }
  return out;
}

std::uint64_t decoded_base64_size(std::string_view text) {
  text = text.substr(0, text.find('='));
  std::uint64_t digits = 0;
  for (const char c : text) {
    digits += value_of(c) != kNoBase64;
  }
  return digits / 4 * 3 + digits % 4 * 6 / 8;
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return k < left ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const std::uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out.push_back(kBase64Alphabet[group >> 18]);
    out.push_back(kBase64Alphabet[group >> 12 & 63]);
    out.push_back(left > 1 ? kBase64Alphabet[group >> 6 & 63] : '=');
    out.push_back(left > 2 ? kBase64Alphabet[group & 63] : '=');
  }
  return out;
}

}  // namespace arborfs::json
