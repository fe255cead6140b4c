// Node ids, slots, interned texts, inode numbers: never reused, never ambiguous.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/omp/log/reader.h"
#include "fs/nodes/node_id.h"
#include "fs/nodes/node_numbers.h"
#include "fs/nodes/node_table.h"

namespace arborfs {
namespace {

TEST(NodeId, PacksKindSlotAndItem) {
  const NodeId node(Kind::label_link, NodeId::kMaxSlot, 0xFFFFFFFF);
  EXPECT_EQ(node.kind(), Kind::label_link);
  EXPECT_EQ(node.slot(), NodeId::kMaxSlot);
  EXPECT_EQ(node.item(), 0xFFFFFFFFU);
  EXPECT_EQ(NodeId(node.value()), node);
}

TEST(NodeId, RootIsInodeOne) {
  EXPECT_EQ(NodeId::root().value(), 1U);
  EXPECT_TRUE(NodeId::root().is_known());
}

TEST(NodeId, UnissuedNumbersAreUnknown) {
  EXPECT_FALSE(NodeId(0).is_known());
  EXPECT_FALSE(NodeId(2).is_known());
  EXPECT_FALSE(NodeId(~std::uint64_t{0}).is_known());
  EXPECT_FALSE(NodeId(static_cast<std::uint64_t>(kFirstView + session_views().size()) << 56U).is_known());
  EXPECT_TRUE(NodeId(kind_of(session_views().back()), 1, 7).is_known());
  EXPECT_TRUE(NodeId(Kind::blob, 0, 7).is_known());
}

TEST(NodeTable, EachKindHasItsRowAndAUniqueWord) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= kFirstView; ++at) {
    const NodeRow& row = row_of(static_cast<Kind>(at));
    EXPECT_EQ(static_cast<std::size_t>(row.kind), at);
    EXPECT_EQ(row.lookup == nullptr, row.list == nullptr) << row.word;
    words.push_back(row.word);
  }
  for (const ViewRow& view : session_views()) {
    EXPECT_EQ(&view_of(kind_of(view)), &view);
    EXPECT_EQ(row_of(kind_of(view)).kind, Kind::view) << view.name;
    EXPECT_EQ(word_of(NodeId(kind_of(view), 1, 7)), view.word);
    words.push_back(view.word);
  }
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end()) << "two kinds share inode numbers";
}

TEST(SessionIds, EachGenerationHasItsOwnSlot) {
  SessionIds slots;
  EXPECT_EQ(slots.find(1, 0), 0U);
  const auto home = slots.slot_of(1, 0);
  const auto first = slots.slot_of(1, 10);
  const auto second = slots.slot_of(1, 11);
  EXPECT_EQ(slots.slot_of(1, 10), first);
  EXPECT_NE(home, first);
  EXPECT_NE(first, second);
  EXPECT_EQ(slots.at(second)->generation, 11U);
  EXPECT_EQ(slots.at(home)->generation, 0U);
  EXPECT_FALSE(slots.at(0));
  EXPECT_FALSE(slots.at(99));
}

TEST(InternTable, NumbersMapBackToTexts) {
  InternTable table;
  const auto first = table.number_of("a/b");
  EXPECT_EQ(table.number_of("a/b"), first);
  EXPECT_NE(table.number_of("a"), first);
  EXPECT_EQ(table.text_of(first), "a/b");
  EXPECT_FALSE(table.text_of(0));
  EXPECT_FALSE(table.text_of(3));
}

TEST(InodeNumber, DependsOnAllItsParts) {
  EXPECT_EQ(stable_ino(1, "entry", "a"), stable_ino(1, "entry", "a"));
  EXPECT_NE(stable_ino(1, "entry", "a"), stable_ino(2, "entry", "a"));
  EXPECT_NE(stable_ino(1, "entry", "a"), stable_ino(1, "text", "a"));
  EXPECT_NE(stable_ino(1, "entr", "ya"), stable_ino(1, "entry", "a"));
}

/// A log of messages with these ids and milliseconds.
std::unique_ptr<LogIndex> index_of(const std::vector<std::pair<std::string, int>>& entries) {
  std::string log = R"({"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/"})"
                    "\n";
  for (const auto& [id, ms] : entries) {
    const std::string digits = std::to_string(1000 + ms).substr(1);
    log += R"({"type":"message","id":")" + id + R"(","parentId":null,"timestamp":"2026-02-16T10:20:31.)" + digits +
           R"(Z","message":{"role":"user","content":"x"}})"
           "\n";
  }
  return std::move(omp::reader().index(*log_from_bytes(log), {}).value());
}

TEST(InodeNumber, EntryInodesAscendWithTimestamps) {
  std::vector<std::pair<std::string, int>> entries;
  for (int ms = 0; ms < 999; ++ms) {
    entries.emplace_back("e" + std::to_string(7919 * (ms + 1) % 1000003), ms);
  }
  const auto index = index_of(entries);
  std::uint64_t before = 0;
  for (Ordinal ordinal = 1; ordinal <= index->size(); ++ordinal) {
    const std::uint64_t ino = entry_ino(5, "entry", *index, ordinal);
    EXPECT_GT(ino, before) << ordinal;
    EXPECT_NE(ino, entry_ino(5, "text", *index, ordinal));
    EXPECT_NE(ino, entry_ino(6, "entry", *index, ordinal));
    before = ino;
  }
}

TEST(InodeNumber, EntriesOfOneMomentHaveDistinctInodes) {
  std::vector<std::pair<std::string, int>> entries;
  for (int number = 0; number < 20000; ++number) {
    entries.emplace_back("e" + std::to_string(number), 7);
  }
  const auto index = index_of(entries);
  std::set<std::uint64_t> numbers;
  for (Ordinal ordinal = 1; ordinal <= index->size(); ++ordinal) {
    numbers.insert(entry_ino(5, "entry", *index, ordinal));
  }
  EXPECT_EQ(numbers.size(), entries.size());
}

TEST(InodeNumber, MovedEntryKeepsItsInode) {
  const auto before = index_of({{"a", 1}, {"b", 2}, {"c", 3}});
  const auto after = index_of({{"a", 1}, {"new", 0}, {"b", 2}, {"c", 3}});
  EXPECT_EQ(entry_ino(5, "entry", *before, 3), entry_ino(5, "entry", *after, 4));
}

TEST(TextVersions, VersionLastsAsLongAsTheBytes) {
  TextVersions versions;
  const NodeId file(Kind::view, 7, 0);
  const auto first = versions.version_of(file, 100);
  EXPECT_EQ(versions.version_of(file, 100), first);
  const auto second = versions.version_of(file, 200);
  EXPECT_NE(second, first);
  EXPECT_GT(versions.version_of(file, 100), second) << "an old number would bring back what the kernel remembers of it";
}

}  // namespace
}  // namespace arborfs
