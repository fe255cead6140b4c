// The rules of redaction: the list that is built in, the user's list, checks of secrets.
#include "core/redact/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/redact/redactor.h"
#include "tests/support/planted_secrets.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::redact {
namespace {

using ::testing::HasSubstr;

constexpr const char* kColumns = "name\tkeywords\tpattern\tentropy\tcheck\n";

TEST(RedactRules, TheListThatIsBuiltInIsRight) {
  Rules rules;
  const auto added = rules.add(kRuleList);
  ASSERT_TRUE(added) << added.error().message;
  std::set<std::string> names;
  for (const Rule& rule : rules.all()) {
    names.insert(rule.name);
  }
  EXPECT_GE(names.size(), 100U);
}

TEST(RedactRules, AWrongLineIsNamedAndTheOthersCount) {
  const auto error_of = [](const std::string& row) {
    Rules rules;
    const auto added = rules.add(kColumns + row + "\nright\tsea\tsea[0-9]+\n");
    EXPECT_EQ(rules.all().size(), 1U) << row;
    return added ? "" : added.error().message;
  };
  EXPECT_THAT(error_of("No Name\tsea\tsea\t\t"), HasSubstr("line 2: a name has small letters"));
  EXPECT_THAT(error_of("unscanned\tsea\tsea\t\t"), HasSubstr("line 2: a name has small letters"));
  EXPECT_THAT(error_of("gull\t\tgull\t\t"), HasSubstr("it needs keywords"));
  EXPECT_THAT(error_of("gull\tgull\tgull(\t\t"), HasSubstr("no regular expression of RE2: missing )"));
  EXPECT_THAT(error_of("gull\tgull\t\t\t"), HasSubstr("no regular expression"));
  EXPECT_THAT(error_of("gull\tgull\t(?:gull)?\t\t"), HasSubstr("matches the empty text"));
  EXPECT_THAT(error_of("gull\tgull\tgull\tmuch\t"), HasSubstr("its entropy is no number"));
  EXPECT_THAT(error_of("gull\tgull\tgull\t1\tluhn"), HasSubstr("its check is none of password, "));
  Rules rules;
  const auto without_names = rules.add("gull\tgull\tgull\n");
  ASSERT_FALSE(without_names);
  EXPECT_THAT(without_names.error().message, HasSubstr("line 1: the first line names the columns, among them name, "));
}

TEST(RedactRules, TheUsersListHoldsAtOnce) {
  const arborfs::testing::TempStore home;
  const arborfs::testing::Variable config("XDG_CONFIG_HOME", home.root());
  EXPECT_EQ(Rules::in_force({})->own(), "");
  std::filesystem::create_directories(home.root() + "/arborfs");
  const auto write = [&](const std::string& rows) {
    std::ofstream(home.root() + "/arborfs/redact.tsv") << kColumns << rows;
  };
  write("ticket\t^gull-\tgull-([0-9]{4})\t\t\nemail\n");
  const RulesPtr rules = Rules::in_force({});
  EXPECT_EQ(rules->own(), home.root() + "/arborfs/redact.tsv");
  EXPECT_EQ(rules->problem(), "");
  Redactor redactor(rules);
  EXPECT_EQ(redactor.redact("see gull-1234, kim@shop.com"), "see gull-[redacted:ticket#1], kim@shop.com")
      << "the user's rule holds, and the built-in one is off";
  write("ticket\t^gull-\tgull-(\n");
  EXPECT_THAT(Rules::in_force({})->problem(), HasSubstr("redact.tsv: line 2: its pattern is no regular expression"));
}

TEST(RedactRules, TheUsersRulesGoFirst) {
  Rules rules;
  ASSERT_TRUE(rules.add(kRuleList));
  ASSERT_TRUE(rules.add(std::string(kColumns) + "ours\tAKIA\t.?AKIA[0-9A-Z]{16}\t\t\n"));
  EXPECT_EQ(rules.all().front().name, "ours");
  Redactor redactor(std::make_shared<Rules>(rules));
  const auto planted = testing::plant({"", "",
                                       "AK"
                                       "IA{t16}",
                                       ""},
                                      1);
  EXPECT_EQ(redactor.redact(planted.secret), "[redacted:ours#1]");
}

TEST(RedactRules, KeywordsCountInAnyCaseWhereThePatternDoes) {
  Rules rules;
  ASSERT_TRUE(rules.add(std::string(kColumns) + "any\t^gull\t(?i)gull[0-9]+\nexact\t^Tern\tTern[0-9]+\n"));
  Redactor redactor(std::make_shared<Rules>(rules));
  EXPECT_EQ(redactor.redact("GULL1 gull2 Tern1 tern2"), "[redacted:any#1] [redacted:any#2] [redacted:exact#1] tern2");
}

TEST(RedactChecks, AChecksumProvesALowEntropy) {
  const Check check = check_named("crc32");
  const std::string letters(30, 'a');
  EXPECT_EQ(check("gh"
                  "p_" +
                  letters + base62_checksum(letters)),
            Verdict::proven);
  EXPECT_EQ(check("gh"
                  "p_" +
                  letters + "000000"),
            Verdict::possible);
  EXPECT_EQ(base62_checksum(""), "000000");
  EXPECT_EQ(base62_checksum("123456789"), "3jZRME") << "0xCBF43926";
}

TEST(RedactChecks, TheChecksumsOfPlantedTokensAreRight) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(check_named("crc32")(testing::plant({"", "",
                                                   "gh"
                                                   "p_{crc}",
                                                   ""},
                                                  seed)
                                       .secret),
              Verdict::proven);
  }
}

TEST(RedactChecks, EntropyIsInBitsForEachByte) {
  EXPECT_EQ(entropy_of(""), 0);
  EXPECT_EQ(entropy_of("aaaa"), 0);
  EXPECT_DOUBLE_EQ(entropy_of("abcd"), 2);
}

TEST(RedactChecks, EachHasAName) {
  for (const std::string& name : names_of_checks()) {
    EXPECT_NE(check_named(name), nullptr) << name;
  }
  EXPECT_EQ(check_named("luhn"), nullptr);
}

}  // namespace
}  // namespace arborfs::redact
