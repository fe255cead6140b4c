// arborfs stats: which messages count, when, and how the sums are shown.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "core/json/document.h"
#include "core/os/environment.h"
#include "core/search/period.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string answer(const std::string& id, const std::string& time, const std::string& model, const std::string& cost) {
  return R"({"type":"message","id":")" + id + R"(","parentId":null,"timestamp":")" + time +
         R"(","message":{"role":"assistant","content":[],"model":")" + model +
         R"(","usage":{"input":1000,"output":20,"cacheRead":300,"cacheWrite":4,"totalTokens":1324,"cost":{"total":)" +
         cost + "}}}}\n";
}

class CommandStatsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::tzset();
    store.write("-work-a", "one",
                testing::TempStore::header("aaaa000011112222", "/work/a") + "\n" +
                    answer("e1", "2026-02-16T10:00:00.000Z", "small", "0.5") +
                    answer("e2", "2026-02-16T23:30:00.000Z", "large", "0.25"));
    store.write("-work-b", "two",
                testing::TempStore::header("bbbb000011112222", "/work/b") + "\n" +
                    answer("e3", "2026-02-17T10:00:00.000Z", "large", "1"));
  }
  void TearDown() override { ::tzset(); }

  std::string stats(std::vector<std::string> words) {
    words.insert(words.begin(), {"stats", "--agent-dir=" + store.root()});
    EXPECT_EQ(terminal.run(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }

  testing::TempStore store;
  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::Variable config{"XDG_CONFIG_HOME", scratch.root() + "/config"};  // without prices of the user
  testing::Variable zone{"TZ", "ABC-1"};                                    // an hour before UTC
  testing::FakeTerminal terminal;
};

TEST_F(CommandStatsTest, MessagesCountOnTheDayOfTheirTimeInTheUsersZone) {
  EXPECT_EQ(stats({}),
            "DAY         MESSAGES  INPUT  OUTPUT  CACHE READ  CACHE WRITE    COST\n"
            "2026-02-16         1  1,000      20         300            4  0.5000\n"
            "2026-02-17         2  2,000      40         600            8    1.25\n"
            "total              3  3,000      60         900           12    1.75\n");
}

TEST_F(CommandStatsTest, JsonHasARowForEachNameMostTokensFirst) {
  EXPECT_EQ(stats({"--by=model", "--json"}),
            "[\n{\"model\":\"large\",\"messages\":2,\"input\":2000,\"output\":40,\"cacheRead\":600,\"cacheWrite\":8,"
            "\"cost\":1.25},\n"
            "{\"model\":\"small\",\"messages\":1,\"input\":1000,\"output\":20,\"cacheRead\":300,\"cacheWrite\":4,"
            "\"cost\":0.5}\n]\n");
  EXPECT_THAT(stats({"--by", "session", "--json"}),
              AllOf(HasSubstr("{\"session\":\"aaaa000011112222\",\"messages\":2,"),
                    HasSubstr("{\"session\":\"bbbb000011112222\",\"messages\":1,")));
  EXPECT_THAT(stats({"--by", "agent"}), HasSubstr("AGENT"));
  EXPECT_THAT(stats({"--by", "project", "-p", "work-b"}), AllOf(HasSubstr("work-b"), Not(HasSubstr("work-a"))));
}

TEST_F(CommandStatsTest, SinceAndUntilNameDaysOfTheUsersZone) {
  EXPECT_THAT(stats({"--since=2026-02-17"}), HasSubstr("total              2"));
  EXPECT_THAT(stats({"--until=2026-02-16"}), HasSubstr("total              1"));
  EXPECT_THAT(stats({"--since=2026-02-16T23:30:00Z", "--until=2026-02-17T10:00:00Z"}),
              HasSubstr("total              1"));
  EXPECT_EQ(terminal.run({"stats", "--since=soon"}), kUsage);
  EXPECT_THAT(terminal.err.str(), HasSubstr("'soon' is not a date"));
  EXPECT_EQ(terminal.run({"stats", "--by=colour"}), kUsage);
  EXPECT_EQ(start_of("2026-02-16"), 1771196400000);
  EXPECT_EQ(end_of("2026-02-28"), 1772319600000);
  EXPECT_FALSE(start_of("2026-02-32"));
}

TEST_F(CommandStatsTest, CopiesOfAMessageInAForkDoNotCount) {
  std::string fork = testing::TempStore::header("cccc000011112222", "/work/c");
  fork.replace(fork.find("10:20:30"), 8, "12:20:30");
  store.write("-work-c", "three",
              fork + "\n" + answer("e1", "2026-02-16T10:00:00.000Z", "small", "0.5") +
                  answer("e2", "2026-02-16T23:30:00.000Z", "large", "0.25") +
                  answer("e9", "2026-02-18T10:00:00.000Z", "large", "0.25"));
  EXPECT_THAT(stats({"--by=session"}), AllOf(HasSubstr("aaaa000011112222  (no conversation)         2"),
                                             HasSubstr("cccc000011112222  (no conversation)         1"),
                                             HasSubstr("total                                       4")));
}

TEST_F(CommandStatsTest, ATerminalShowsBars) {
  terminal.io.out_is_terminal = true;
  terminal.variables["NO_COLOR"] = "1";
  const std::string text = stats({"--by=day"});
  EXPECT_THAT(text, AllOf(HasSubstr("2  2,000      40         600            8    1.25  ████"),
                          HasSubstr("1  1,000      20         300            4  0.5000  ██")));
}

TEST_F(CommandStatsTest, NamesGoBeforeBars) {
  terminal.io.out_is_terminal = true;
  terminal.variables["NO_COLOR"] = "1";
  store.write("-work-kites-x1", "three",
              testing::TempStore::header("dddd000011112222", "/work/kites/x1") + "\n" +
                  answer("e4", "2026-02-18T10:00:00.000Z", "small", "1"));
  terminal.io.width = 80;
  EXPECT_THAT(stats({"--by=project"}), AllOf(HasSubstr("\nwork-kites-x1 "), HasSubstr("COST  MONEY\n"),
                                             HasSubstr("0.7500  █████▎\n"), HasSubstr("1.00  ███████\n")));
  terminal.io.width = 72;
  EXPECT_THAT(stats({"--by=project"}), AllOf(HasSubstr("\nwork-kites-x1 "), Not(HasSubstr("MONEY"))));
  terminal.io.width = 60;
  EXPECT_THAT(stats({"--by=project"}), HasSubstr("\nwork-a  "));
}

TEST_F(CommandStatsTest, ImpossibleNumbersDoNoHarm) {
  terminal.io.out_is_terminal = true;
  for (const std::string tokens : {"-5000", "1e300"}) {
    std::string line = answer("f1", "2026-02-17T10:00:00.000Z", "m" + tokens, "1");
    line.replace(line.find("\"input\":1000"), 12, "\"input\":" + tokens);
    store.write("-work-c", "three", testing::TempStore::header("cccc000011112222", "/work/c") + "\n" + line);
    EXPECT_THAT(stats({"--by=model"}), HasSubstr("m" + tokens));
  }
}

TEST_F(CommandStatsTest, WithoutMessagesThereIsOnlyTheTotal) {
  EXPECT_EQ(stats({"--since=2027-01-01", "--json"}), "[]\n");
  EXPECT_THAT(stats({"--since=2027-01-01"}),
              HasSubstr("total         0      -       -           -            -     -\n"));
}

TEST_F(CommandStatsTest, WeeksAndMonthsAreInTheirOrder) {
  store.write("-work-c", "three",
              testing::TempStore::header("cccc000011112222", "/work/c") + "\n" +
                  answer("e4", "2025-12-31T10:00:00.000Z", "small", "2"));
  EXPECT_THAT(stats({"--by=week"}),
              AllOf(HasSubstr("WEEK "), HasSubstr("\n2026-W01         1 "), HasSubstr("\n2026-W08         3 ")));
  EXPECT_THAT(stats({"--by=month"}), AllOf(HasSubstr("\n2025-12         1 "), HasSubstr("\n2026-02         3 ")));
  EXPECT_THAT(stats({"--in=2026-02"}), HasSubstr("total              3"));
  EXPECT_THAT(stats({"--in=2026-02-17"}), HasSubstr("total              2"));
  EXPECT_THAT(stats({"--in=this-week"}), HasSubstr("total         0"));
  EXPECT_EQ(terminal.run({"stats", "--in=2026-02", "--since=2026-02-17"}), kUsage);
  EXPECT_EQ(terminal.run({"stats", "--in=next-week"}), kUsage);
}

TEST_F(CommandStatsTest, PeriodsOfTheCalendarFollowOneAnother) {
  EXPECT_EQ(end_of("last-week"), start_of("this week"));
  EXPECT_EQ(end_of("last month"), start_of("this-month"));
  EXPECT_EQ(end_of("last year"), start_of("this year"));
  const auto day = start_of("today");
  EXPECT_LE(start_of("this week"), day);
  EXPECT_GE(end_of("this week"), end_of("today"));
  std::time_t monday = *start_of("this week") / 1000;
  EXPECT_EQ(std::localtime(&monday)->tm_wday, 1);
  std::time_t first = *start_of("last month") / 1000;
  EXPECT_EQ(std::localtime(&first)->tm_mday, 1);
}

/// A session of Claude Code, whose records tell no cost; `cost` is that of the whole session, "" for none.
class CommandStatsOfClaude : public CommandStatsTest {
 protected:
  static std::string id_of(unsigned number) { return std::to_string(number) + "1111111-1111-4111-8111-111111111111"; }
  static std::string row(const std::string& message, const std::string& model, const std::string& usage) {
    return R"({"type":"assistant","uuid":"u-)" + message + R"(","parentUuid":null,"requestId":"r-)" + message +
           R"(","timestamp":"2026-02-16T10:00:00.000Z","message":{"id":")" + message +
           R"(","role":"assistant","model":")" + model + R"(","content":[],"usage":{)" + usage + "}}}\n";
  }
  void write(unsigned number, const std::string& rows, const std::string& cost = "") {
    claude.write(
        "../projects/-work", id_of(number),
        R"({"type":"user","uuid":"p","parentUuid":null,"sessionId":")" + id_of(number) +
            R"(","cwd":"/work","timestamp":"2026-02-16T09:00:00.000Z","message":{"role":"user","content":"x"}})" +
            "\n" + rows +
            (cost.empty()
                 ? ""
                 : R"({"type":"cost-state","sessionId":")" + id_of(number) + R"(","totalCostUSD":)" + cost + "}\n"));
  }
  std::string of_claude(std::vector<std::string> words) {
    words.insert(words.begin(), {"stats", "--store=claude=" + claude.root()});
    EXPECT_EQ(terminal.run(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }
  static constexpr const char* kUsage =
      R"("input_tokens":1000,"output_tokens":2000,"cache_read_input_tokens":10000,"cache_creation_input_tokens":3000,)"
      R"("cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":2000})";
  static constexpr double kCost = (1000 * 3 + 2000 * 15 + 10000 * 0.3 + 1000 * 3.75 + 2000 * 6) / 1e6;
  testing::TempStore claude;
};

TEST_F(CommandStatsOfClaude, CostsThatNobodyTellsAreComputedAndMarked) {
  write(1, row("m1", "claude-sonnet-4-5-20250929", kUsage) + row("m2", "kite-9", kUsage));
  const std::string cost = json::number_text(kCost);
  EXPECT_THAT(of_claude({"--by=model"}),
              AllOf(HasSubstr("~0.0518\n"), ContainsRegex("kite-9 .* 3,000 +-\n"), HasSubstr("6,000  ~0.0518+\n")));
  EXPECT_THAT(terminal.err.str(), AllOf(HasSubstr("~ marks a cost that is computed by list prices of 20"),
                                        HasSubstr("+ leaves out 1 message without a price\n")));
  EXPECT_THAT(of_claude({"--by=model", "--json"}),
              AllOf(HasSubstr("\"cost\":" + cost + ",\"computedCost\":" + cost), Not(HasSubstr("\"cost\":0,"))));
  EXPECT_EQ(terminal.run({"ls", "--store=claude=" + claude.root(), "--cost"}), kDone);
  EXPECT_THAT(terminal.out.str(), HasSubstr(" ~0.0518+ "));
  EXPECT_THAT(terminal.err.str(), AllOf(HasSubstr("~ marks a cost that is computed"),
                                        HasSubstr("+ leaves out 1 message without a price\n")));
  EXPECT_EQ(terminal.run({"show", "--store=claude=" + claude.root(), "latest"}), kDone);
  EXPECT_THAT(terminal.out.str(), HasSubstr("cost ~0.0518+"));
  EXPECT_THAT(terminal.err.str(), HasSubstr("~ marks a cost that is computed"));
}

TEST_F(CommandStatsOfClaude, TheUsageOfASessionHasTheComputedCostApart) {
  write(1, row("m1", "claude-sonnet-4-5-20250929", kUsage) + row("m2", "kite-9", kUsage));
  const std::vector<std::string> show{"show", "--json", "--store=claude=" + claude.root(), "latest"};
  EXPECT_EQ(terminal.run(show), kDone);
  json::Document shown;
  ASSERT_TRUE(json::parse(terminal.out.str(), shown));
  const json::Value& usage = *json::member(shown, "usage");
  EXPECT_EQ(json::member(usage, "cost"), nullptr) << "the agent tells none";
  EXPECT_EQ(json::number_member(usage, "computedCost"), kCost);
  EXPECT_EQ(json::number_member(usage, "messagesWithoutPrice"), 1);
  EXPECT_THAT(std::string(json::string_member(usage, "pricesOf").value_or("")), ::testing::StartsWith("20"));
  write(1, row("m1", "claude-sonnet-4-5-20250929", kUsage), "0.25");
  EXPECT_EQ(terminal.run(show), kDone);
  EXPECT_THAT(terminal.out.str(), AllOf(HasSubstr("\"cost\":0.25"), Not(HasSubstr("computedCost"))));
}

TEST_F(CommandStatsOfClaude, AllSessionsAreOfThisHost) {
  write(1, row("m1", "claude-sonnet-4-5", kUsage));
  EXPECT_THAT(of_claude({"--by=host", "--json"}), HasSubstr("{\"host\":\"" + host_name() + "\",\"messages\":1,"));
}

TEST_F(CommandStatsOfClaude, TheCostOfTheAgentGoesBeforePrices) {
  write(1, row("m1", "claude-sonnet-4-5", kUsage), "0.25");
  EXPECT_THAT(of_claude({"--by=model", "--json"}), AllOf(HasSubstr("\"cost\":0.25}"), Not(HasSubstr("computedCost"))));
  write(2, row("m1", "claude-sonnet-4-5", kUsage));  // a copy of the message
  EXPECT_THAT(of_claude({"--by=agent", "--json"}), HasSubstr("\"cost\":0.25}"));
}

TEST_F(CommandStatsOfClaude, TheCostOfASessionHasThatOfItsSubAgents) {
  write(1, row("m1", "claude-sonnet-4-5", kUsage), "0.25");
  claude.write("../projects/-work/" + id_of(1) + "/subagents", "agent-77", row("m2", "claude-sonnet-4-5", kUsage));
  EXPECT_THAT(of_claude({"--by=agent", "--json"}), AllOf(HasSubstr("\"messages\":2,"), HasSubstr("\"cost\":0.25}")));
  constexpr const char* kTwice = "the cost of 1 sub-agent is also in that of the session that started it";
  EXPECT_EQ(terminal.run({"ls", "--store=claude=" + claude.root(), "--cost", "-c"}), kDone);
  EXPECT_THAT(terminal.err.str(), HasSubstr(kTwice));
  EXPECT_EQ(terminal.run({"ls", "--store=claude=" + claude.root(), "--cost"}), kDone);
  EXPECT_THAT(terminal.err.str(), Not(HasSubstr(kTwice)));
  write(1, row("m1", "claude-sonnet-4-5", kUsage));
  EXPECT_THAT(of_claude({"--by=agent", "--json"}), HasSubstr("\"cost\":" + json::number_text(2 * kCost) + ","));
}

}  // namespace
}  // namespace arborfs::cli
