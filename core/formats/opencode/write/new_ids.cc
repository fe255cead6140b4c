#include "core/formats/opencode/write/new_ids.h"

#include <random>

namespace arborfs::opencode {

std::string new_id(std::string_view kind, std::int64_t time_ms, std::uint32_t count) {
  constexpr int kDigits = 12;
  constexpr int kLetters = 14;
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const std::uint64_t counted = static_cast<std::uint64_t>(time_ms) * 4096 + count;
  std::string id = std::string(kind) + "_";
  for (int digit = kDigits - 1; digit >= 0; --digit) {
    id += kHex[counted >> (4U * static_cast<unsigned>(digit)) & 0xFU];
  }
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kAlphabet.size() - 1);
  for (int i = 0; i < kLetters; ++i) {
    id += kAlphabet[letter(random)];
  }
  return id;
}

}  // namespace arborfs::opencode
