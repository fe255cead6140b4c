// Finds the bytes of a text that belong to given sets, 64 bytes at a time, with wide vectors where the processor has
// them. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

namespace arborfs {

/// Disjoint sets of bytes, encoded for vector table lookups. The bytes of one set that share an upper half (four bits)
/// form a kind; all sets together may have at most eight kinds.
template <std::size_t kCount>
class ByteSets {
 public:
  static constexpr std::size_t kMostKinds = 8;

  template <class... Sets>
  explicit constexpr ByteSets(const Sets&... sets) {
    static_assert(sizeof...(sets) == kCount);
    (add(sets), ...);
  }
  /// True if `c` is in any of the sets.
  [[nodiscard]] constexpr bool has(char c) const { return kind(c) != 0; }
  /// The kind of a byte, as one bit; 0 if it is in none of the sets.
  [[nodiscard]] constexpr std::uint8_t kind(char c) const {
    const auto byte = static_cast<unsigned char>(c);
    return low_[byte & 15U] & high_[byte >> 4U];
  }
  /// The kinds of a set, as bits.
  [[nodiscard]] constexpr std::uint8_t kinds(std::size_t set) const { return kinds_[set]; }
  /// Lookup tables: the kinds for each lower and each upper half of a byte.
  [[nodiscard]] const std::uint8_t* low() const { return low_.data(); }
  [[nodiscard]] const std::uint8_t* high() const { return high_.data(); }

 private:
  constexpr void add(std::string_view set) {
    std::array<std::uint8_t, 16> kind_of{};  // by upper half
    for (const char c : set) {
      const auto byte = static_cast<unsigned char>(c);
      std::uint8_t& kind = kind_of[byte >> 4U];
      if (kind == 0 && count_ == kMostKinds) {
        throw std::length_error("bytes of more than eight kinds");
      }
      kind = kind != 0 ? kind : static_cast<std::uint8_t>(1U << count_++);
      low_[byte & 15U] |= kind;
      high_[byte >> 4U] |= kind;
      kinds_[sets_] |= kind;
    }
    ++sets_;
  }

  std::array<std::uint8_t, 16> low_{};
  std::array<std::uint8_t, 16> high_{};
  std::array<std::uint8_t, kCount> kinds_{};
  std::size_t sets_ = 0;
  std::size_t count_ = 0;  // number of kinds
};
template <class... Sets>
ByteSets(const Sets&...) -> ByteSets<sizeof...(Sets)>;

/// True if the union of the sets is the same for both.
template <std::size_t kCount, std::size_t kOther>
constexpr bool has_same_bytes(const ByteSets<kCount>& sets, const ByteSets<kOther>& other) {
  for (unsigned byte = 0; byte < 0x100; ++byte) {
    if (sets.has(static_cast<char>(byte)) != other.has(static_cast<char>(byte))) {
      return false;
    }
  }
  return true;
}

inline constexpr std::size_t kMarkedBytes = 64;  // per mark
/// Bytes that must be readable after a text; their values do not matter.
inline constexpr std::size_t kMarkPadding = kMarkedBytes - 1;

constexpr std::size_t marks_for(std::size_t bytes) {
  return (bytes + kMarkedBytes - 1) / kMarkedBytes;
}

/// One mark per set for the same 64 bytes: bit i is set if byte i is in that set.
template <std::size_t kCount>
using Marks = std::array<std::uint64_t, kCount>;

/// Writes the marks of `text`; bits past its end are 0. kMarkPadding bytes after `text` must be readable, and `marks`
/// must have room for marks_for(text.size()) elements. Instantiated for one and two sets.
template <std::size_t kCount>
void mark(std::string_view text, const ByteSets<kCount>& sets, Marks<kCount>* marks);

/// Finds the bytes of a set in a text from its start to its end, and looks at each byte once. The text needs no
/// padding; it and the set outlive the search.
class ByteSearch {
 public:
  ByteSearch(std::string_view text, const ByteSets<1>& set) : text_(text), set_(set) {}
  /// The place of the first one from `at` on; the size of the text if there is none. `at` must not be below that of an
  /// earlier call.
  std::size_t next(std::size_t at) {
    for (;;) {
      if (at >= end_) {
        if (at >= text_.size()) {
          return text_.size();
        }
        mark_from(at);
      }
      const std::size_t block = (at - begin_) / kMarkedBytes;
      const std::uint64_t left = marks_[block][0] >> ((at - begin_) % kMarkedBytes);
      if (left != 0) {
        return at + static_cast<std::size_t>(std::countr_zero(left));
      }
      at = std::min(begin_ + (block + 1) * kMarkedBytes, end_);
    }
  }

 private:
  void mark_from(std::size_t at);

  const std::string_view text_;
  const ByteSets<1>& set_;
  std::array<Marks<1>, 4> marks_;  // of the bytes in [begin_, end_)
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// An implementation that marks `blocks` times 64 bytes.
template <std::size_t kCount>
using Marker = void (*)(const char* bytes, std::size_t blocks, const ByteSets<kCount>& sets, Marks<kCount>* marks);
/// The implementations that this processor supports, fastest first; mark() uses the first. Tests check that all agree.
template <std::size_t kCount>
std::span<const Marker<kCount>> markers();

}  // namespace arborfs
