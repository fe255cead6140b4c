// Growth: an index extended step by step equals one built from the whole log.
#include <random>

#include "tests/unit/log_test_support.h"

namespace arborfs {
namespace {

using test::build;

constexpr std::string_view kHeader =
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\",\"title\":\"old\"}\n";

std::string entry_line(int number, const std::string& parent) {
  char id[9];
  std::snprintf(id, sizeof id, "%08x", static_cast<unsigned>(number));
  return "{\"type\":\"message\",\"id\":\"" + std::string(id) + "\",\"parentId\":" + parent +
         ",\"timestamp\":\"2026-02-16T10:20:30.000Z\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
}

std::string slot_line(const std::string& title) {
  const std::string head = R"({"type":"title","v":1,"title":")" + title + R"(","updatedAt":"2026","pad":")";
  return head + std::string(256 - 3 - head.size(), ' ') + "\"}\n";
}

// Extends the index to these bytes; false if it had to be rebuilt.
bool follow(std::unique_ptr<LogIndex>& index, const std::string& bytes) {
  const auto log = log_from_bytes(bytes);
  auto growth = index->read_growth(*log);
  EXPECT_TRUE(growth.has_value());
  if (*growth == nullptr) {
    index = build(*log);
    return false;
  }
  index->apply(std::move(*growth));
  return true;
}

class LogGrowth : public testing::TestWithParam<std::string> {};

TEST_P(LogGrowth, EqualsAFullBuild) {
  const std::string bytes = test::read_file(test::corpus() / GetParam() / "session.jsonl");
  std::mt19937 random(static_cast<unsigned>(bytes.size()));
  for (int round = 0; round < 4; ++round) {
    std::size_t size = random() % (bytes.size() + 1);
    auto index = build(bytes.substr(0, size));
    while (size < bytes.size()) {
      const std::size_t step = 1 + random() % std::max<std::size_t>(40, bytes.size() / 8);
      size = std::min(bytes.size(), size + step);
      follow(index, bytes.substr(0, size));
      ASSERT_EQ(test::dump(*index), test::dump(*build(bytes.substr(0, size))))
          << "at " << size << " of " << bytes.size();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LogGrowth, testing::ValuesIn(test::corpus_cases()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Fragments that are awkward to split.
TEST(LogGrowthSteps, RandomTextGrowsByteByByte) {
  const std::vector<std::string> bits = {"{\"a\":1}\n",
                                         "{\"id\":\"b\",\"parentId\":\"c\"}\n",
                                         "{\"id\":\"c\"}\n",
                                         "[1,\n",
                                         "]\n",
                                         "12",
                                         "1e",
                                         "+",
                                         "5",
                                         "-",
                                         "true",
                                         "nul",
                                         "\"x\\u12",
                                         "34\"",
                                         "\"",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\n",
                                         "\r",
                                         " ",
                                         "\0",
                                         "\xEF\xBB\xBF",
                                         "\"type\"",
                                         "xx",
                                         "\xC2\xA0",
                                         "{\"type\":\"session\",\"id\":\"s\"}\n",
                                         "{\"type\":\"title_change\"}\n"};
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = round % 4 == 0 ? "" : std::string(kHeader);
    const std::size_t first = bytes.size();
    for (std::size_t i = 0, n = 1 + random() % 10; i < n; ++i) {
      bytes += bits[random() % bits.size()];
    }
    auto index = build(bytes.substr(0, first));
    for (std::size_t size = first; size <= bytes.size(); ++size) {
      follow(index, bytes.substr(0, size));
      ASSERT_EQ(test::dump(*index), test::dump(*build(bytes.substr(0, size)))) << bytes.substr(0, size);
    }
  }
}

TEST(LogGrowthSteps, WholeLinesGrowWithoutRebuilding) {
  std::string bytes = std::string(kHeader) + entry_line(1, "null");
  auto index = build(bytes);
  for (int i = 2; i < 50; ++i) {
    const std::string line = entry_line(i, "\"00000001\"");
    EXPECT_TRUE(follow(index, bytes + line.substr(0, line.size() / 2)));
    EXPECT_EQ(index->size(), static_cast<Ordinal>(i - 1));
    ASSERT_EQ(index->damage().size(), 1U);
    EXPECT_TRUE(index->damage()[0].in_progress);
    bytes += line;
    EXPECT_TRUE(follow(index, bytes));
    EXPECT_EQ(index->size(), static_cast<Ordinal>(i));
    EXPECT_TRUE(index->damage().empty());
  }
  EXPECT_EQ(index->tip_count(), 48U);
}

TEST(LogGrowthSteps, TornTailMayBeTruncated) {
  const std::string good = std::string(kHeader) + entry_line(1, "null");
  auto index = build(good + "{\"type\":\"mess");
  EXPECT_TRUE(follow(index, good));
  EXPECT_TRUE(index->damage().empty());
  EXPECT_EQ(index->scanned_size(), good.size());
  EXPECT_FALSE(follow(index, good.substr(0, good.size() - 5)));
}

TEST(LogGrowthSteps, ChangedSlotChangesOnlyTheTitle) {
  const std::string rest = std::string(kHeader) + entry_line(1, "null");
  auto index = build(slot_line("first") + rest);
  EXPECT_EQ(index->header().title, "first");
  EXPECT_TRUE(follow(index, slot_line("second") + rest + entry_line(2, "\"00000001\"")));
  EXPECT_EQ(index->header().title, "second");
  EXPECT_EQ(test::dump(*index), test::dump(*build(slot_line("second") + rest + entry_line(2, "\"00000001\""))));
  EXPECT_TRUE(follow(index, slot_line("") + rest + entry_line(2, "\"00000001\"")));
  EXPECT_EQ(index->header().title, "");
}

TEST(LogGrowthSteps, ChangesToEarlierEntriesNeedARebuild) {
  const std::string head(kHeader);
  const std::string good = head + entry_line(1, "null") + entry_line(2, "\"00000009\"");
  const std::vector<std::string> rewrites = {
      good + entry_line(1, "null"),                                        // a duplicate
      good + entry_line(9, "null"),                                        // the missing parent
      good + "{\"type\":\"title_change\",\"id\":\"0000000a\"}\n",          // the other dialect
      head.substr(0, 40) + "x" + good.substr(40) + entry_line(3, "null"),  // another header
      good.substr(0, good.size() - 6) + "yyyy}\n" + entry_line(3, "null"),
  };
  for (const std::string& bytes : rewrites) {
    auto index = build(good);
    EXPECT_FALSE(follow(index, bytes)) << bytes;
  }
  auto same = build(good);
  EXPECT_TRUE(follow(same, good));
}

TEST(LogGrowthSteps, NewEntriesMayReferToOneAnotherAsTheyLike) {
  const std::string good = std::string(kHeader) + entry_line(1, "null") + entry_line(2, "\"00000009\"");
  const std::vector<std::string> longer = {
      good + entry_line(10, "\"0000000b\"") + entry_line(11, "null"),  // a parent after its child
      good + entry_line(10, "null") + entry_line(10, "null"),          // a duplicate among the new
  };
  for (const std::string& bytes : longer) {
    auto index = build(good);
    EXPECT_TRUE(follow(index, bytes)) << bytes;
    EXPECT_EQ(test::dump(*index), test::dump(*build(bytes)));
  }
}

TEST(LogGrowthSteps, TrailingNumberMayContinue) {
  const std::string head(kHeader);
  auto index = build(head + "12");
  EXPECT_EQ(index->size(), 1U);
  EXPECT_FALSE(follow(index, head + "123"));
  EXPECT_TRUE(follow(index, head + "123\n4\n"));
  EXPECT_EQ(index->size(), 2U);
}

TEST(LogGrowthSteps, LabelsFollowGrowth) {
  std::string bytes = std::string(kHeader) + entry_line(1, "null");
  const auto label = [](int number, const char* target, const char* text) {
    return "{\"type\":\"label\",\"id\":\"l" + std::to_string(number) + "\",\"targetId\":\"" + target +
           "\",\"label\":" + text + "}\n";
  };
  auto index = build(bytes);
  for (const std::string& line : {label(1, "a", "\"A\""), label(2, "b", "\"B\""), label(3, "a", "\"AA\""),
                                  label(4, "a", "null"), label(5, "a", "7")}) {
    bytes += line;
    EXPECT_TRUE(follow(index, bytes));
    EXPECT_EQ(test::dump(*index), test::dump(*build(bytes)));
  }
  ASSERT_EQ(index->labels().size(), 2U);
  EXPECT_EQ(index->labels()[0].text, "B");
  EXPECT_EQ(index->labels()[1].text, "7");
  EXPECT_EQ(index->labels()[1].set_by, 6U);
}

}  // namespace
}  // namespace arborfs
