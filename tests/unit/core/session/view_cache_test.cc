// Documents are cached as long as they may be requested again, and no longer.
#include "core/session/view_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace arborfs {
namespace {

using Key = ViewCache::Key;

std::shared_ptr<const Content> words(std::size_t size) {
  auto content = std::make_shared<Content>();
  content->add_text(std::string(size, 'w'));
  return content;
}

TEST(ViewCache, KeepsTheSizesOfEvictedViews) {
  ViewCache cache;
  cache.keep(Key{1, 2, 3, 4}, words(ViewCache::kMaxBytes - 100'000));
  cache.keep(Key{1, 2, 4, 4}, words(200'000));
  EXPECT_EQ(cache.find(Key{1, 2, 3, 4}), nullptr);
  EXPECT_EQ(cache.size_of(Key{1, 2, 3, 4}), ViewCache::kMaxBytes - 100'000);
  EXPECT_NE(cache.find(Key{1, 2, 4, 4}), nullptr);
}

TEST(ViewCache, RepeatedlyChangedViewEvictsNoOtherSize) {
  ViewCache cache;
  cache.keep(Key{1, 2, 3, 0}, words(7));
  for (std::uint32_t epoch = 1; epoch <= 2 * ViewCache::kMaxSizes; ++epoch) {
    cache.keep(Key{2, 2, 3, epoch}, words(8));
  }
  EXPECT_EQ(cache.size_of(Key{1, 2, 3, 0}), 7U);
  EXPECT_EQ(cache.size_of(Key{2, 2, 3, 2 * ViewCache::kMaxSizes}), 8U);
  EXPECT_EQ(cache.size_of(Key{2, 2, 3, 1}), std::nullopt);
}

TEST(ViewCache, ForgetsOnlyTheNamedGeneration) {
  ViewCache cache;
  for (const std::uint32_t generation : {1U, 2U, 3U}) {
    cache.keep(Key{generation, 0, 0, 0}, words(generation));
    cache.keep(Key{generation, UINTPTR_MAX, UINT32_MAX, UINT32_MAX}, words(generation));
  }
  cache.forget(2);
  for (const std::uint32_t generation : {1U, 2U, 3U}) {
    for (const Key& key : {Key{generation, 0, 0, 0}, Key{generation, UINTPTR_MAX, UINT32_MAX, UINT32_MAX}}) {
      EXPECT_EQ(cache.find(key) != nullptr, generation != 2);
      EXPECT_EQ(cache.size_of(key).has_value(), generation != 2);
    }
  }
}

}  // namespace
}  // namespace arborfs
