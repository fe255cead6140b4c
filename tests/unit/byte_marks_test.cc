// However wide the vectors are, the same bytes are marked.
#include "core/base/byte_marks.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace arborfs {
namespace {

constexpr std::string_view kWanted = "\\\x7F\xC2\xD8\xE1\xE2\xED\xEF\xF3";

TEST(ByteMarks, ASetHasItsBytesAndNoOthers) {
  constexpr ByteSet kSet(kWanted);
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(kSet.has(c), kWanted.find(c) != std::string_view::npos) << byte;
  }
}

TEST(ByteMarks, EveryWayMarksEachByteAsItIs) {
  std::mt19937 random(11);
  const ByteSet set(kWanted);
  for (std::size_t blocks = 0; blocks < 8; ++blocks) {
    std::string text(blocks * kMarkedBytes, 'x');
    for (char& c : text) {
      c = random() % 4 == 0 ? kWanted[random() % kWanted.size()] : static_cast<char>(random() % 256);
    }
    for (const Marker& marker : markers()) {
      std::vector<std::uint64_t> in_set(blocks + 1, 77);
      std::vector<std::uint64_t> backslashes(blocks + 1, 77);
      marker.set(text.data(), blocks, set, in_set.data());
      marker.byte(text.data(), blocks, '\\', backslashes.data());
      for (std::size_t i = 0; i < text.size(); ++i) {
        ASSERT_EQ((in_set[i / 64] >> (i % 64) & 1U) != 0, set.has(text[i])) << i;
        ASSERT_EQ((backslashes[i / 64] >> (i % 64) & 1U) != 0, text[i] == '\\') << i;
      }
      EXPECT_EQ(in_set[blocks], 77U);
      EXPECT_EQ(backslashes[blocks], 77U);
    }
  }
}

TEST(ByteMarks, WhatStandsBehindTheTextIsNotMarked) {
  const std::string text(300, '\\');
  const ByteSet set("\\");
  for (std::size_t size = 1; size <= 200; ++size) {
    std::vector<std::uint64_t> marks(marks_for(size));
    for (const bool as_set : {false, true}) {
      as_set ? mark(std::string_view(text).substr(0, size), set, marks.data())
             : mark(std::string_view(text).substr(0, size), '\\', marks.data());
      const std::uint64_t wanted = size % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << size % 64) - 1;
      EXPECT_EQ(marks.back(), wanted) << size;
    }
  }
}

}  // namespace
}  // namespace arborfs
