// The same bytes are marked, whatever the width of the vectors.
#include "core/base/simd_classify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace arborfs {
namespace {

constexpr std::array<std::string_view, 4> kWanted = {"\\", "n", "bfr\x7F", "\xC2\xEF\xE1\xE2\xED"};
constexpr ByteSets kSets(kWanted[0], kWanted[1], kWanted[2], kWanted[3]);

bool is_in(std::string_view set, char c) {
  return set.find(c) != std::string_view::npos;
}

/// The last kCount of the sets.
template <std::size_t kCount, std::size_t... kIndex>
constexpr ByteSets<kCount> last_sets(std::index_sequence<kIndex...> /*places*/) {
  return ByteSets<kCount>(kWanted[kWanted.size() - kCount + kIndex]...);
}

char any_byte(std::mt19937& random) {
  const std::string_view set = kWanted[random() % kWanted.size()];
  return random() % 2 == 0 ? set[random() % set.size()] : static_cast<char>(random() % 256);
}

TEST(SimdClassify, SetsContainExactlyTheirBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    bool is_in_any = false;
    for (std::size_t i = 0; i < kWanted.size(); ++i) {
      EXPECT_EQ((kSets.kind(c) & kSets.kinds(i)) != 0, is_in(kWanted[i], c)) << byte << " in set " << i;
      is_in_any = is_in_any || is_in(kWanted[i], c);
    }
    EXPECT_EQ(kSets.has(c), is_in_any) << byte;
  }
}

TEST(SimdClassify, TooManyKindsAreRefused) {
  EXPECT_NO_THROW(ByteSets("\x01\x11\x21\x31\x41", "\x51\x61\x71"));
  EXPECT_THROW(ByteSets("\x01\x11\x21\x31\x41", "\x51\x61\x71\x02"), std::length_error);
}

template <std::size_t kCount>
void check_every_way(const std::string& text) {
  constexpr auto kMarked = last_sets<kCount>(std::make_index_sequence<kCount>());
  const std::size_t blocks = text.size() / kMarkedBytes;
  for (const Marker<kCount> marker : markers<kCount>()) {
    Marks<kCount> untouched;
    untouched.fill(7);
    std::vector<Marks<kCount>> marks(blocks + 1, untouched);
    marker(text.data(), blocks, kMarked, marks.data());
    for (std::size_t i = 0; i < text.size(); ++i) {
      for (std::size_t set = 0; set < kCount; ++set) {
        ASSERT_EQ((marks[i / 64][set] >> (i % 64) & 1U) != 0, is_in(kWanted[kWanted.size() - kCount + set], text[i]))
            << i << " in set " << set;
      }
    }
    EXPECT_EQ(marks.back(), untouched);
  }
}

TEST(SimdClassify, AllImplementationsMarkTheSameBytes) {
  std::mt19937 random(11);
  for (std::size_t blocks = 0; blocks < 8; ++blocks) {
    std::string text(blocks * kMarkedBytes, 'x');
    std::generate(text.begin(), text.end(), [&random] { return any_byte(random); });
    check_every_way<1>(text);
    check_every_way<2>(text);
  }
}

TEST(SimdClassify, BytesBeyondTheTextAreNotMarked) {
  const std::string text(300, '\\');
  constexpr ByteSets kBoth("x", "\\");
  for (std::size_t size = 1; size <= 200; ++size) {
    std::vector<Marks<2>> marks(marks_for(size));
    mark(std::string_view(text).substr(0, size), kBoth, marks.data());
    const std::uint64_t wanted = size % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << size % 64) - 1;
    EXPECT_EQ(marks.back(), (Marks<2>{0, wanted})) << size;
  }
}

TEST(ByteSearch, FindsEveryByteOfTheSetFromAnyPlaceOn) {
  std::mt19937 random(12);
  constexpr ByteSets kOne("\\x");
  for (std::size_t size = 0; size < 700; ++size) {
    std::string text(size, 'a');
    std::generate(text.begin(), text.end(), [&] { return random() % (size + 8) < 8 ? "x\\"[random() % 2] : 'a'; });
    const std::string padded = text + "x";  // beyond the text
    ByteSearch search(std::string_view(padded).substr(0, size), kOne);
    for (std::size_t at = 0;; at += 1 + random() % 3 * (random() % 90)) {
      at = std::min(at, size);
      const std::size_t wanted = std::min(text.find_first_of("x\\", at), size);
      ASSERT_EQ(search.next(at), wanted) << size << " from " << at;
      at = wanted;
      if (at == size) {
        break;
      }
    }
  }
}

}  // namespace
}  // namespace arborfs
