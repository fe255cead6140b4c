// The filters of `arborfs ls` by time and state, and how it names times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/clock.h"
#include "core/json/date.h"
#include "core/search/period.h"
#include "tests/unit/command_write_support.h"
#include "tools/arborfs/table.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::bytes_of;
using ::arborfs::testing::TempStore;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr std::int64_t kDayMs = 86'400'000;

/// The session of WritingTest is new; the others are 3 and 20 days old.
class CommandLsTest : public ::arborfs::testing::WritingTest {
 protected:
  CommandLsTest() {
    for (const int days : {3, 20}) {
      const std::string id = id_of(days);
      store.write(kFolder, id, TempStore::header(id, store.root()) + "\n" + TempStore::user("e1", "", "words") + "\n");
      fs::last_write_time(store.log(kFolder, id), fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
    }
  }
  static std::string id_of(int days) { return "old" + std::to_string(100 + days) + "000000"; }
  std::string ids(std::vector<std::string> words) {
    words.insert(words.begin(), {"ls", "-q"});
    EXPECT_EQ(run(words), kDone) << err();
    return out();
  }
};

TEST_F(CommandLsTest, SinceAndUntilSelectByTheTimeOfTheLastWrite) {
  const std::string fresh = std::string(kId) + "\n";
  const std::string recent = id_of(3) + "\n";
  const std::string old = id_of(20) + "\n";
  EXPECT_EQ(ids({"--since=2d"}), fresh);
  EXPECT_EQ(ids({"--since=1w"}), fresh + recent);
  EXPECT_EQ(ids({"--until", "1w"}), old);
  EXPECT_EQ(ids({"--since=2w", "--until=1d"}), recent);
  EXPECT_EQ(ids({"--until=" + json::iso_time(now_ms() - 10 * kDayMs)}), old);
  EXPECT_EQ(ids({"--since=2020-01-01", "--until=today"}), fresh + recent + old);
  EXPECT_EQ(run({"ls", "--until=1y"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no session was written in that time; 'arborfs ls' lists all"));
  EXPECT_EQ(run({"ls", "--since=soon"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("'soon' is not a date such as 2026-02-16, or a time such as yesterday, 12h, 3d, 2w, "
                               "\"this week\" or \"last month\""));
}

TEST_F(CommandLsTest, StateSelectsBeforeTheLimit) {
  EXPECT_EQ(ids({"--state=quiet", "-n2"}), std::string(kId) + "\n" + id_of(3) + "\n");
  EXPECT_EQ(ids({"--state=live"}), "");
  terminal.io.err_is_terminal = true;
  EXPECT_EQ(run({"ls", "--state=live"}), kDone);
  EXPECT_THAT(err(), HasSubstr("no session is live now; 'arborfs ls' lists all\n"));
  terminal.io.err_is_terminal = false;
  EXPECT_EQ(run({"ls", "--state=asleep"}), kUsage);
}

TEST_F(CommandLsTest, TimesAreAgesOnATerminal) {
  terminal.io.out_is_terminal = true;
  EXPECT_EQ(run({"ls"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("3 d ago"));
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t now = 1'771'237'230 * kSecond;
  EXPECT_EQ(age_words(now - 20 * kSecond, now), "just now");
  EXPECT_EQ(age_words(now - 5 * 60 * kSecond, now), "5 min ago");
  EXPECT_EQ(age_words(now - 7200 * kSecond, now), "2 h ago");
  EXPECT_EQ(age_words(now - 13 * 86400 * kSecond, now), "13 d ago");
  EXPECT_EQ(age_words(now - 14 * 86400 * kSecond, now), time_words(now - 14 * 86400 * kSecond));
  EXPECT_EQ(age_words(now + 100 * kSecond, now), time_words(now + 100 * kSecond));
}

std::string costly(const std::string& id, const std::string& model, const std::string& cost) {
  return R"({"type":"message","id":")" + id + R"(","parentId":"e2e2e2e2","timestamp":"2026-02-16T10:20:32.000Z",)" +
         R"("message":{"role":"assistant","content":[],"model":")" + model +
         R"(","usage":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":30,"cost":{"total":)" + cost +
         "}}}}\n";
}

TEST_F(CommandLsTest, ModelSelectsBeforeTheLimit) {
  write(bytes_of(log()) + costly("e3e3e3e3", "Small-5", "0.1") + costly("e4e4e4e4", "large-7", "0.2"));
  const auto old = store.log(kFolder, id_of(20));
  const auto written = fs::last_write_time(old);
  std::ofstream(old, std::ios::app) << costly("e3e3e3e3", "small-4", "1");
  fs::last_write_time(old, written);
  EXPECT_EQ(ids({"--model=small"}), std::string(kId) + "\n" + id_of(20) + "\n");
  EXPECT_EQ(ids({"--model", "SMALL-4", "-n1"}), id_of(20) + "\n");
  EXPECT_EQ(ids({"--model=large", "--state=quiet"}), std::string(kId) + "\n");
  EXPECT_EQ(run({"ls", "--model=huge"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no session used a model named 'huge'; 'arborfs stats --by model' lists the models"));
  EXPECT_EQ(run({"ls", "--model="}), kUsage);
}

TEST_F(CommandLsTest, SortsBeforeTheLimit) {
  write(bytes_of(log()) + costly("e3e3e3e3", "small", "0.1"));
  std::ofstream(store.log(kFolder, id_of(20)), std::ios::app)
      << costly("e3e3e3e3", "small", "1") << R"({"type":"custom","data":")" << std::string(2000, 'x') << "\"}\n";
  EXPECT_EQ(run({"title", id_of(3), "A title"}), kDone) << err();
  EXPECT_EQ(run({"title", id_of(20), "b title"}), kDone) << err();
  EXPECT_EQ(ids({"--sort=title"}), id_of(3) + "\n" + id_of(20) + "\n" + kId + "\n");
  EXPECT_EQ(ids({"--sort=cost", "-n2"}), id_of(20) + "\n" + kId + "\n");
  EXPECT_EQ(ids({"--sort", "size", "-n1"}), id_of(20) + "\n");
  EXPECT_EQ(run({"ls", "--sort=cost"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("  COST  "));
  EXPECT_EQ(run({"ls", "--sort=titel"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("did you mean 'title'?"));
}

TEST_F(CommandLsTest, TheNearestFolderAboveWithSessionsIsMeant) {
  const std::string below = store.root() + "/src/deep";
  fs::create_directories(below);
  EXPECT_EQ(ids({"-p", below, "-n1"}), std::string(kId) + "\n");
  EXPECT_EQ(run({"prune", "--dry-run", "-p", below}), kFailed) << "what is removed is named exactly";
  EXPECT_EQ(run({"ls", "-p", "/nowhere/at/all"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no session was started in /nowhere/at/all or in a folder above it"));
}

TEST_F(CommandLsTest, WordsThatNameNoSessionAreExplained) {
  EXPECT_EQ(run({"title", kId, "The race of the caches"}), kDone) << err();
  expect_refused({"show", "latset"}, "did you mean 'latest'?");
  expect_refused({"show", "op:aaaa"}, "did you mean 'omp:aaaa'?");
  expect_refused({"show", "race"}, "did you mean:\n  " + std::string(kId));
  expect_refused({"show", "caches-of"}, "did you mean:\n  " + std::string(kId));
  expect_refused({"show", "cachse"}, "did you mean:\n  " + std::string(kId));
  expect_refused({"show", "aaab000011"}, "did you mean:\n  " + std::string(kId));
  fs::create_directories(store.root() + "/kite");
  store.write("-kite", "kite000011112222", TempStore::header("kite000011112222", store.root() + "/kite") + "\n");
  expect_refused({"ls", "-p", "kiet"},
                 "no project is named 'kiet'; 'arborfs ls' lists all projects; did you mean 'kite'?");
  expect_refused({"ls", "-a", "opm"}, "there are sessions of omp; did you mean 'omp'?");
  EXPECT_EQ(run({"show", "nothing like it"}), kFailed);
  EXPECT_THAT(err(), Not(HasSubstr("did you mean")));
}

TEST_F(CommandLsTest, CostIsTheSumOverAllBranches) {
  write(bytes_of(log()) + costly("e3e3e3e3", "small", "0.1") + costly("e4e4e4e4", "large", "0.2"));
  EXPECT_EQ(run({"ls", "--cost", "-n2"}), kDone) << err();
  EXPECT_THAT(out(), ContainsRegex("SIZE +COST  STATE\n.* 0\\.3000  quiet\n.* -  quiet\n"));
  EXPECT_EQ(run({"ls", "--cost", "--json", "-n1"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(R"("models":["large","small"],"cost":0.3,)"));
  EXPECT_EQ(run({"ls", "--json", "-n1"}), kDone) << err();
  EXPECT_THAT(out(), Not(HasSubstr("cost"))) << "whole logs are read only if asked to";
}

TEST(Period, ReadsDaysAndAges) {
  const std::int64_t before = now_ms();
  EXPECT_GE(start_of("90m"), before - 5'400'000);
  EXPECT_LE(start_of("2w"), now_ms() - 14 * kDayMs);
  EXPECT_GE(end_of("2w"), before - 14 * kDayMs);
  EXPECT_LE(start_of("today"), now_ms());
  EXPECT_GT(end_of("today"), before);
  EXPECT_LT(start_of("yesterday"), end_of("yesterday"));
  EXPECT_EQ(start_of("2026-02-16T10:20:30Z"), 1'771'237'230'000);
  EXPECT_EQ(start_of("2026-02"), start_of("2026-02-01"));
  EXPECT_EQ(end_of("2026-02"), start_of("2026-03-01"));
  EXPECT_EQ(end_of("2026-12"), start_of("2027-01-01"));
  EXPECT_EQ(start_of("2026"), start_of("2026-01-01"));
  EXPECT_EQ(end_of("2026"), start_of("2027-01-01"));
  for (const char* word :
       {"", "d", "3x", "-3d", "999999d", "2026-13-01", "2026-13", "2026-02-30", "2026-02-30T10:00:00Z", "soon"}) {
    EXPECT_FALSE(start_of(word)) << word;
  }
}

}  // namespace
}  // namespace arborfs::cli
