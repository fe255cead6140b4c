// Entries that change while they are copied.
#include <gtest/gtest.h>

#include "core/formats/omp/context/context.h"
#include "core/formats/omp/edit/log_rewrite.h"

namespace arborfs::omp {
namespace {

Result<std::string> copied(const std::string& entry, const EntryChange& change) {
  const auto log = log_from_bytes("{}\n" + entry + "\n{}\n");
  const IdOfValue id_of = [](std::uint64_t value) { return value == 2 ? R"("aaaa0002")" : std::string(); };
  std::string out;
  auto done = copy_entry(*log, 3, entry.size(), change, id_of, [&](std::string_view bytes) -> Result<void> {
    out += bytes;
    return {};
  });
  return done ? Result<std::string>(out) : done.error();
}

struct Case {
  std::string entry;
  std::string wanted;  // after migration from version 1
};

const EntryChange kMessage{EntryType::message, R"("aaaa0005")", R"("aaaa0004")", true};
const EntryChange kCompaction{EntryType::compaction, R"("aaaa0005")", R"("aaaa0004")", false};

class EntryCopy : public ::testing::TestWithParam<Case> {};

TEST_P(EntryCopy, IsMigrated) {
  const auto migration = GetParam().entry.find("compaction") != std::string::npos ? kCompaction : kMessage;
  EXPECT_EQ(*copied(GetParam().entry, migration), GetParam().wanted);
}

TEST_P(EntryCopy, GetsItsParent) {
  for (const char* parent : {"null", R"("0123abcd")"}) {
    const auto changed = copied(GetParam().entry, {.parent_json = parent});
    ASSERT_TRUE(changed) << GetParam().entry;
    EXPECT_NE(changed->find(std::string("\"parentId\":") + parent), std::string::npos) << *changed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Entries, EntryCopy,
    ::testing::Values(
        Case{R"({})", R"({"id":"aaaa0005","parentId":"aaaa0004"})"},
        Case{
            R"({ "type" : "message" , "message" : { "x":1, "role" : "hookMessage" } })",
            R"({ "type" : "message" , "message" : { "x":1, "role" : "custom" },"id":"aaaa0005","parentId":"aaaa0004" })"},
        Case{R"({"id":7,"message":{"role":"user","text":"\"id\":1,}"},"parentId":[1,{"id":2}]})",
             R"({"id":"aaaa0005","message":{"role":"user","text":"\"id\":1,}"},"parentId":"aaaa0004"})"},
        Case{R"({"id":1,"\u0069d":2,"parentId":null,"message":"hookMessage"})",
             R"({"id":1,"\u0069d":"aaaa0005","parentId":"aaaa0004","message":"hookMessage"})"},
        Case{
            R"({"type":"compaction","firstKeptEntryIndex":2,"summary":"s"})",
            R"({"type":"compaction","summary":"s","id":"aaaa0005","parentId":"aaaa0004","firstKeptEntryId":"aaaa0002"})"},
        Case{R"({"type":"compaction", "id":1, "parentId":2, "firstKeptEntryId":3, "firstKeptEntryIndex":2 })",
             R"({"type":"compaction", "id":"aaaa0005", "parentId":"aaaa0004", "firstKeptEntryId":"aaaa0002" })"},
        Case{R"({"type":"compaction","firstKeptEntryIndex":1,"a":1,"firstKeptEntryIndex":2})",
             R"({"type":"compaction","a":1,"id":"aaaa0005","parentId":"aaaa0004","firstKeptEntryId":"aaaa0002"})"},
        Case{R"({"type":"compaction","firstKeptEntryIndex":9})",
             R"({"type":"compaction","id":"aaaa0005","parentId":"aaaa0004"})"},
        Case{R"({"type":"compaction","firstKeptEntryIndex":"2"})",
             R"({"type":"compaction","firstKeptEntryIndex":"2","id":"aaaa0005","parentId":"aaaa0004"})"}));

TEST(EntryCopyLimits, UnchangedEntriesAreCopiedByteForByte) {
  for (const std::string entry : {R"({"a" : 1})", "5", R"("text")"}) {
    EXPECT_EQ(*copied(entry, {}), entry);
    EXPECT_EQ(*copied(entry, {.type = EntryType::message}), entry);
  }
  EXPECT_EQ(*copied("[1]", kMessage), "[1]");
}

TEST(EntryCopyLimits, EntriesOfMoreThan64MibAreCopiedOnlyUnchanged) {
  const std::string entry = R"({"type":"message","id":"a","text":")" + std::string(kLongestHeld, 'x') + "\"}";
  EXPECT_EQ(*copied(entry, {}), entry);
  for (const EntryChange& change : {kMessage, EntryChange{.parent_json = "null"}}) {
    const auto refused = copied(entry, change);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::too_large);
    EXPECT_NE(refused.error().message.find("too long"), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace arborfs::omp
