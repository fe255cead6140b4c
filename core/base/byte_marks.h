// Where bytes of a set stand in a text, told for 64 bytes at a time, with wide vectors where the processor has them.
// Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace arborfs {

/// A set of bytes that vectors can tell from others: their upper halves are of at most eight kinds.
class ByteSet {
 public:
  explicit constexpr ByteSet(std::string_view bytes) {
    unsigned kinds = 0;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      std::uint8_t& kind = high_[byte >> 4U];
      kind = kind != 0 ? kind : static_cast<std::uint8_t>(1U << kinds++);
      low_[byte & 15U] |= kind;
    }
  }
  [[nodiscard]] constexpr bool has(char c) const {
    const auto byte = static_cast<unsigned char>(c);
    return (low_[byte & 15U] & high_[byte >> 4U]) != 0;
  }
  /// The kinds of upper halves with which a lower half is in the set, and the kind of each upper half.
  [[nodiscard]] const std::uint8_t* low() const { return low_.data(); }
  [[nodiscard]] const std::uint8_t* high() const { return high_.data(); }

 private:
  std::array<std::uint8_t, 16> low_{};
  std::array<std::uint8_t, 16> high_{};
};

inline constexpr std::size_t kMarkedBytes = 64;  // by one mark
/// Bytes that must be readable behind a text, of any value.
inline constexpr std::size_t kMarkPadding = kMarkedBytes - 1;

constexpr std::size_t marks_for(std::size_t bytes) {
  return (bytes + kMarkedBytes - 1) / kMarkedBytes;
}

/// Bit i of mark n is set when byte 64 n + i of `text` is in the set; those behind the text are not. `marks` has room
/// for marks_for(text.size()).
void mark(std::string_view text, const ByteSet& set, std::uint64_t* marks);
/// The same for one byte.
void mark(std::string_view text, char byte, std::uint64_t* marks);

/// The ways to do so that this processor has, the fastest first, which is taken. Tests hold them to one answer.
struct Marker {
  /// Marks of `blocks` times 64 bytes.
  void (*set)(const char* bytes, std::size_t blocks, const ByteSet& set, std::uint64_t* marks);
  void (*byte)(const char* bytes, std::size_t blocks, char byte, std::uint64_t* marks);
};
std::span<const Marker> markers();

}  // namespace arborfs
