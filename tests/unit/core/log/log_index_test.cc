// Indexes of small logs: ids, parents, damage, versions, header.
#include "core/formats/omp/log/dialect.h"
#include "tests/unit/log_test_support.h"

namespace arborfs {
namespace {

using test::build;

const std::string kHeader = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n";

TEST(LogIndexIds, CompareAsInJavaScript) {
  const auto index =
      build(kHeader +
            "{\"id\":5}\n{\"id\":\"5\",\"parentId\":5.0}\n{\"id\":{},\"parentId\":true}\n"
            "{\"id\":true,\"parentId\":{}}\n{\"id\":1e400,\"parentId\":\"\"}\n{\"id\":null,\"parentId\":0}\n");
  EXPECT_EQ(index->parent(2), 1U);
  EXPECT_EQ(index->parent(3), 4U);
  EXPECT_EQ(index->parent(4), kNoEntry);
  EXPECT_TRUE(index->is_orphan(4));
  EXPECT_FALSE(index->is_orphan(5));
  EXPECT_EQ(index->find("5"), 2U);
  EXPECT_EQ(index->find(EntryId{EntryId::Kind::other, "5"}), 1U);
  EXPECT_EQ(index->find(EntryId{EntryId::Kind::other, "null"}), 6U);
  EXPECT_EQ(index->id(3).text, "{}");
}

TEST(LogIndexIds, LastOfEqualKeysAndOfEqualIdsWins) {
  const auto index = build(
      kHeader +
      "{\"id\":\"a\",\"\\u0069d\":\"b\"}\n{\"id\":\"c\",\"parentId\":\"b\"}\n{\"id\":\"b\"}\n"
      "{\"type\":\"message\",\"message\":{\"role\":\"x\"},\"message\":{\"role\":\"y\",\"role\":\"z\"}}\n"
      "{\"\\u0069d\":\"d\",\"x\":1e400,\"message\":{\"role\":\"q\"},\"m\\u0065ssage\":{},\"type\":\"message\"}\n");
  EXPECT_EQ(index->id(1).text, "b");
  EXPECT_EQ(index->parent(2), 3U);
  EXPECT_FALSE(index->is_tip(1));
  EXPECT_FALSE(index->is_tip(3));
  EXPECT_EQ(index->tip_count(), 3U);
  EXPECT_EQ(index->name(4), "z");
  EXPECT_EQ(index->id(5).text, "d");
  EXPECT_EQ(index->name(5), "message");
}

TEST(LogIndexDamage, IsTheTextThatAgentsDrop) {
  const std::string nuls(3, '\0');
  const auto index = build(kHeader + "garbage \n{\"id\":\"a\"} fused\n" + nuls + "\n" + nuls +
                           "{\"id\":\"b\"}\n \v\f\xC2\xA0\n{\"id\":\"c\"}\n[1,");
  const auto damage = index->damage();
  ASSERT_EQ(damage.size(), 6U);
  const std::vector<Damage::Kind> kinds = {Damage::Kind::malformed, Damage::Kind::fused,     Damage::Kind::nul,
                                           Damage::Kind::nul,       Damage::Kind::malformed, Damage::Kind::unfinished};
  for (std::size_t i = 0; i < damage.size(); ++i) {
    EXPECT_EQ(damage[i].kind, kinds[i]) << i;
    EXPECT_EQ(damage[i].in_progress, i == 5) << i;
  }
  EXPECT_EQ(damage[0].offset, kHeader.size());
  EXPECT_EQ(damage[0].length, 7U);
  EXPECT_EQ(damage[1].length, 5U);
  EXPECT_EQ(index->malformed_records(), 5U);
  EXPECT_EQ(index->size(), 2U);
}

TEST(LogIndexHeader, MissingHeaderHidesNoEntry) {
  const auto index = build("{\"id\":\"a\"}\n{\"type\":\"session\",\"id\":\"s\"}\n");
  EXPECT_FALSE(index->header().valid);
  EXPECT_EQ(index->size(), 2U);
  EXPECT_EQ(index->entry_at_value(0), 1U);
  EXPECT_FALSE(build("")->header().problem.empty());
}

TEST(LogIndexHeader, LaterSessionLinesAreNotEntries) {
  const std::string bytes = kHeader + "{\"id\":\"a\"}\n" + kHeader + "{\"id\":\"b\"}\n";
  const auto older = build(bytes);
  EXPECT_EQ(older->size(), 2U);
  EXPECT_EQ(older->entry_at_value(2), kNoEntry);
  EXPECT_EQ(older->entry_at_value(3), 2U);
  const auto younger = build(bytes + "{\"type\":\"reset_boundary\"}\n");
  EXPECT_EQ(omp::dialect_of(*younger), omp::Dialect::omp18);
  EXPECT_EQ(younger->size(), 4U);
}

// Keys that only the newer generation writes count only in their own type of entry, however they are spelled.
TEST(LogIndexDialect, IsDetectedFromKeysWithoutATitleSlot) {
  struct Row {
    std::string type;
    std::string member;
  };
  for (const Row& row : std::vector<Row>{{"thinking_level_change", R"("configured":"auto")"},
                                         {"thinking_level_change", R"("configured":null)"},
                                         {"model_change", R"("resolvedModelIsFallback":false)"},
                                         {"compaction", R"("tokensAfter":7)"},
                                         {"compaction", R"("method":"remote")"},
                                         {"compaction", R"("warning":"w")"},
                                         {"compaction", R"("providerReplayThroughEntryId":"a")"},
                                         {"session_init", R"("compactionThreshold":{"thresholdTokens":9})"},
                                         {"session_init", R"("retryFallback":[])"}}) {
    const auto dialect = [](const std::string& type, const std::string& between, const std::string& member) {
      return omp::dialect_of(*build(kHeader + R"({"type":")" + type + R"(","id":"a",)" + between + member + "}\n"));
    };
    std::string escaped = row.member;
    escaped.replace(1, 1, "\\u00" + std::string(1, "67"[escaped[1] >= 'p']) + "0123456789abcdef"[escaped[1] % 16]);
    EXPECT_EQ(dialect(row.type, "", row.member), omp::Dialect::omp18) << row.member;
    EXPECT_EQ(dialect(row.type, "\n", row.member), omp::Dialect::omp18) << row.member << " on a line of its own";
    EXPECT_EQ(dialect(row.type, "", escaped), omp::Dialect::omp18) << escaped;
    EXPECT_EQ(dialect(row.type, "\n", escaped), omp::Dialect::omp18) << escaped << " on a line of its own";
    EXPECT_EQ(dialect(row.type, "", R"("data":{)" + row.member + "}"), omp::Dialect::omp13) << "inside another member";
    EXPECT_EQ(dialect("custom", "", row.member), omp::Dialect::omp13) << row.member << " of another type";
  }
}

TEST(LogIndexDialect, MayChangeWithGrowth) {
  const std::string bytes = kHeader + "{\"id\":\"a\"}\n";
  const auto index = build(bytes);
  EXPECT_EQ(omp::dialect_of(*index), omp::Dialect::omp13);
  const auto grown = log_from_bytes(bytes + R"({"type":"compaction","id":"b","method":"soft"})" + "\n");
  const auto growth = index->read_growth(*grown);
  ASSERT_TRUE(growth);
  EXPECT_EQ(*growth, nullptr) << "what was read by the other rules must be read anew";
}

struct VersionCase {
  const char* version;
  const char* shown;
  bool migrated;
  bool gives_ids;
  bool writable;
};
TEST(LogIndexHeader, VersionsCompareAsInJavaScript) {
  for (const VersionCase& v : std::vector<VersionCase>{{"3", "3", false, false, true},
                                                       {"4", "4", false, false, false},
                                                       {"2.5", "3", true, false, true},
                                                       {"\"2\"", "3", true, false, true},
                                                       {"\"x\"", "\"x\"", true, false, true},
                                                       {"null", "3", true, true, true},
                                                       {"[]", "3", true, true, true},
                                                       {"[\"4\"]", "[\"4\"]", false, false, false},
                                                       {"true", "3", true, true, true}}) {
    const auto index = build(std::string("{\"type\":\"session\",\"version\":") + v.version +
                             ",\"id\":\"s\"}\n{\"id\":\"own\"}\n42\n{}\n");
    EXPECT_EQ(index->header().json, std::string("{\"type\":\"session\",\"version\":") + v.shown + ",\"id\":\"s\"}")
        << v.version;
    EXPECT_EQ(index->header().migrated, v.migrated) << v.version;
    EXPECT_EQ(index->header().writable_version, v.writable) << v.version;
    EXPECT_EQ(index->id(1).text, v.gives_ids ? "00000001" : "own") << v.version;
    EXPECT_EQ(index->id(3).text, v.gives_ids ? "00000003" : "") << v.version;
  }
}

TEST(LogIndexTimes, AreParsedAsInJavaScript) {
  const auto index =
      build(kHeader +
            "{\"timestamp\":\"2026-02-16T10:20:30.123Z\"}\n{\"timestamp\":\"2026-02-30T00:00:00.000Z\"}\n{"
            "\"timestamp\":1.9}\n"
            "{\"timestamp\":null}\n{\"timestamp\":true}\n{}\n{\"timestamp\":\"0001-01-01T00:00:00.000Z\"}\n");
  const std::vector<std::int64_t> times = {1771237230123,  1772409600000,  1, 0, Entry::kNoTime,
                                           Entry::kNoTime, -62135596800000};
  for (Ordinal i = 1; i <= index->size(); ++i) {
    EXPECT_EQ(index->entry(i).timestamp_ms, times[i - 1]) << i;
  }
}

}  // namespace
}  // namespace arborfs
