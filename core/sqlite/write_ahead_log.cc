#include "core/sqlite/write_ahead_log.h"

#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/os/file.h"

namespace arborfs::sqlite {
namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrameHeader = 24;

std::uint32_t big_endian(std::span<const char> bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

/// The size of the pages that follow the header; 0 if SQLite ignores it.
std::uint32_t page_size_in(std::span<const char, kHeader> header) {
  constexpr std::uint32_t kMagic = 0x377F0682;  // the last bit says how the checksums are computed
  constexpr std::uint32_t kSmallest = 512;
  constexpr std::uint32_t kLargest = 65536;
  const std::uint32_t size = big_endian(header, 8);
  const bool is_good =
      (big_endian(header, 0) & ~1U) == kMagic && std::has_single_bit(size) && size >= kSmallest && size <= kLargest;
  return is_good ? size : 0;
}

}  // namespace

bool may_hold_pages_in_wal(const std::string& path) {
  const std::filesystem::path whole(path);
  const auto folder = Dir::open_root(whole.parent_path());
  if (!folder) {
    return true;
  }
  FileStat st;
  const auto wal = File::open_in(*folder, whole.filename().string() + "-wal", &st);
  if (!wal) {
    return wal.error().code != Errc::not_found;
  }
  std::array<char, kHeader> header{};
  const auto got = wal->read_at(0, header);
  if (!got || *got < kHeader) {
    return !got;
  }
  const std::uint32_t page = page_size_in(header);
  return page != 0 && st.size >= kHeader + kFrameHeader + page;
}

}  // namespace arborfs::sqlite
