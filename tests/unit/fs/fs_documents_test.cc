#include <gtest/gtest.h>

#include "fs/nodes/documents.h"

namespace arborfs {
namespace {

constexpr pid_t kReader = 100;
constexpr std::size_t kLong = std::size_t{3} << 20U;
const NodeId kTitle(Kind::text, 1, 7);
const NodeId kNextTitle(Kind::text, 1, 8);

SnapshotPtr document_of(NodeId node, std::size_t size = 10) {
  auto content = std::make_shared<Content>();
  content->add_text(std::string(size, 'x'));
  auto document = std::make_shared<Snapshot>();
  document->attr.node = node;
  document->attr.size = size;
  document->content = std::move(content);
  return document;
}

class DocumentsTest : public ::testing::Test {
 protected:
  /// A lookup by a thread that makes the node's document.
  void look_up(pid_t client, NodeId node, std::size_t size = 10) {
    documents.put_recent(document_of(node, size), false);
    documents.pin(client, node);
  }
  Documents documents;
};

TEST_F(DocumentsTest, WhatALookupFoundStaysHoweverMuchOthersLookUp) {
  look_up(kReader, kTitle, kLong);
  for (std::uint32_t i = 0; i < 100; ++i) {
    look_up(kReader + 1, NodeId(Kind::text, 1, 10 + i), kLong);
  }
  EXPECT_NE(documents.find(kTitle), nullptr);
  EXPECT_EQ(documents.find(NodeId(Kind::text, 1, 50)), nullptr);
  look_up(kReader, kNextTitle, kLong);
  EXPECT_EQ(documents.find(kTitle), nullptr) << "after the next lookup of the thread";
}

TEST_F(DocumentsTest, LookupOfAnotherKindOfFileReleasesTheDocument) {
  look_up(kReader, kTitle, kLong);
  look_up(0, kNextTitle, kLong);
  documents.pin(kReader, NodeId(Kind::projects, 0, 0));
  EXPECT_EQ(documents.find(kTitle), nullptr);
  EXPECT_NE(documents.find(kNextTitle), nullptr) << "the newest is held";
}

TEST_F(DocumentsTest, AnOpenReleasesTheDocument) {
  look_up(kReader, kTitle, kLong);
  look_up(0, kNextTitle, kLong);
  documents.unpin(kReader);
  EXPECT_EQ(documents.find(kTitle), nullptr);
}

TEST_F(DocumentsTest, WhatManyThreadsLookedUpIsBounded) {
  const auto title_of = [](pid_t thread) { return NodeId(Kind::text, 1, static_cast<std::uint32_t>(thread)); };
  for (pid_t thread = 1; thread <= 100; ++thread) {
    look_up(thread, title_of(thread), kLong);
  }
  std::size_t held = 0;
  for (pid_t thread = 1; thread <= 100; ++thread) {
    held += documents.find(title_of(thread)) != nullptr ? kLong : 0;
  }
  EXPECT_GE(held, 2 * kLong);
  EXPECT_LE(held, std::size_t{20} << 20U);
  EXPECT_NE(documents.find(title_of(99)), nullptr) << "the oldest go first";
  look_up(kReader, kTitle, 10 * kLong);
  EXPECT_NE(documents.find(kTitle), nullptr) << "one is held whatever its size";
}

TEST_F(DocumentsTest, SecondOpenOfAThreadGetsWhatItsLookupFoundOnce) {
  look_up(kReader, kTitle);
  EXPECT_EQ(documents.second_chance(kReader, kTitle), nullptr);
  look_up(kReader, kNextTitle);
  EXPECT_EQ(documents.second_chance(kReader + 1, kNextTitle), nullptr) << "another thread";
  EXPECT_NE(documents.second_chance(kReader, kNextTitle), nullptr);
  EXPECT_EQ(documents.second_chance(kReader, kNextTitle), nullptr) << "once";
}

TEST_F(DocumentsTest, OtherFilesAndTheRefusedNodeGetNoSecondChance) {
  for (const NodeId other : {kTitle, NodeId(Kind::text, 2, 8), NodeId(Kind::entry, 1, 8)}) {
    EXPECT_EQ(documents.second_chance(kReader, kTitle), nullptr);
    look_up(kReader, other);
    EXPECT_EQ(documents.second_chance(kReader, other), nullptr);
  }
}

TEST_F(DocumentsTest, UnknownThreadsGetNoSecondChance) {
  EXPECT_EQ(documents.second_chance(0, kTitle), nullptr);
  look_up(0, kNextTitle);
  EXPECT_EQ(documents.second_chance(0, kNextTitle), nullptr);
}

}  // namespace
}  // namespace arborfs
