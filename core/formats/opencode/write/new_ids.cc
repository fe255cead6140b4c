#include "core/formats/opencode/write/new_ids.h"

#include <random>

namespace arborfs::opencode {

namespace {

std::string id_of(std::string_view kind, std::uint64_t counted) {
  constexpr int kDigits = 12;
  constexpr int kLetters = 14;
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
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

std::uint64_t counted_at(std::int64_t time_ms, std::uint32_t count) {
  return static_cast<std::uint64_t>(time_ms) * 4096 + count;
}

}  // namespace

std::string new_id(std::string_view kind, std::int64_t time_ms, std::uint32_t count) {
  return id_of(kind, counted_at(time_ms, count));
}

std::string new_session_id(std::int64_t time_ms) {
  return id_of("ses", ~counted_at(time_ms, 1));
}

}  // namespace arborfs::opencode
