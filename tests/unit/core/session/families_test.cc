#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/session/catalog_view.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kNone = Families::kNone;

TEST(Families, ChildrenFollowTheirStarters) {
  const Families families = families_of({{0, "c", "b"}, {0, "b", "a"}, {0, "a", ""}, {0, "x", "b"}, {0, "y", ""}});
  EXPECT_THAT(families.starter, ElementsAre(1, 2, kNone, 1, kNone));
  EXPECT_THAT(families.order, ElementsAre(2, 4, 1, 0, 3));
}

TEST(Families, NobodyIsStartedByASessionThatIsNotThere) {
  const Families families = families_of({{0, "a", "gone"}, {1, "gone", ""}, {0, "b", "a"}});
  EXPECT_THAT(families.starter, ElementsAre(kNone, kNone, 0)) << "sessions of another store do not count";
}

TEST(Families, TheFirstOfEqualIdsIsTheStarter) {
  EXPECT_THAT(families_of({{0, "a", ""}, {0, "a", ""}, {0, "b", "a"}}).starter, ElementsAre(kNone, kNone, 0));
}

TEST(Families, CirclesAreBroken) {
  const Families families =
      families_of({{0, "self", "self"}, {0, "a", "b"}, {0, "b", "c"}, {0, "c", "a"}, {0, "below", "b"}});
  EXPECT_THAT(families.starter, ElementsAre(kNone, kNone, kNone, kNone, 2));
  EXPECT_EQ(families.order.size(), 5U);
}

TEST(Families, TwoWaysIntoOneCircle) {
  EXPECT_THAT(families_of({{0, "w", "a"}, {0, "a", "b"}, {0, "b", "a"}, {0, "x", "b"}}).starter,
              ElementsAre(1, kNone, kNone, 2));
}

TEST(Families, WhatWouldBeTooDeepHasNoStarter) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back("s" + std::to_string(i));
  }
  std::vector<FamilyMember> members;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    members.push_back({0, ids[i], i == 0 ? std::string_view() : std::string_view(ids[i - 1])});
  }
  const Families families = families_of(members);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(families.starter[i], i % (Families::kDeepest + 1) == 0 ? kNone : i - 1) << i;
  }
}

TEST(Families, OfManyTakesNoLongTime) {
  std::vector<std::string> ids;
  for (int i = 0; i < 100'000; ++i) {
    ids.push_back(std::to_string(i));
  }
  std::vector<FamilyMember> members;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    members.push_back({0, ids[i], ids[(i + 1) % ids.size()]});
  }
  EXPECT_THAT(families_of(members).starter, ::testing::Each(kNone)) << "one circle";
}

}  // namespace
}  // namespace arborfs
