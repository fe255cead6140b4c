// Logs without their secrets (core/log/redacted_log.h): the same lines however often they are made, growth, changes.
#include "core/log/redacted_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/log/log_file.h"
#include "core/os/file.h"
#include "tests/support/planted_secrets.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using redact::testing::plant;

std::shared_ptr<const LogRedaction> redaction() {
  auto rules = std::make_shared<redact::Rules>();
  EXPECT_TRUE(rules->add(redact::kRuleList));
  return std::make_shared<const LogRedaction>(rules);
}

std::string token(std::uint64_t seed) {
  return plant({"", "", "{a22}4", ""}, seed).secret;
}

std::string said(const std::string& text) {
  return R"({"text":")" + text + "\"}\n";
}

class RedactedLogTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "log.jsonl") const { return (folder_ / name).string(); }
  void write(const std::string& text, const std::string& name = "log.jsonl") const {
    std::ofstream(path(name)) << text;
  }
  void append(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }
  std::shared_ptr<const LogSource> open(const std::string& name = "log.jsonl") const {
    const auto dir = Dir::open_root(folder_.string());
    const auto log = LogFile::open(*dir, name);
    EXPECT_TRUE(log);
    return *redaction_->log(*log, {});
  }
  static std::string all_of(const LogSource& log) { return *log.read(0, *log.size()); }
  /// Other logs take the place of the lines that are kept.
  void open_many() const {
    for (int i = 0; i < 40; ++i) {
      write(said(std::to_string(i)), "other.jsonl");
      EXPECT_EQ(all_of(*open("other.jsonl")), said(std::to_string(i)));
      std::filesystem::remove(path("other.jsonl"));
    }
  }

  const testing::TempStore temporary_;
  const std::filesystem::path folder_ = temporary_.sessions();
  const std::shared_ptr<const LogRedaction> redaction_ = redaction();
};

TEST_F(RedactedLogTest, TakesWhatShowsItselfLater) {
  write(said("as " + token(1) + " says") + said("API_TOKEN=" + token(1)));
  EXPECT_EQ(all_of(*open()), said("as [redacted:environment#1] says") + said("API_TOKEN=[redacted:environment#1]"));
}

TEST_F(RedactedLogTest, MakesTheSameLinesAgain) {
  write(said("as " + token(1) + " says") + said("API_TOKEN=" + token(1)));
  const auto log = open();
  const std::string first = all_of(*log);
  append(said("bare " + token(2)));
  EXPECT_EQ(all_of(*log), first + said("bare " + token(2)));
  append(said("DB_TOKEN=" + token(2)));
  append(said("again " + token(2)));
  const std::string all = all_of(*log);
  EXPECT_EQ(all, first + said("bare " + token(2)) + said("DB_TOKEN=[redacted:environment#2]") +
                     said("again [redacted:environment#2]"));
  open_many();
  EXPECT_EQ(all_of(*log), all);
  append(said("more"));
  open_many();
  EXPECT_EQ(all_of(*log), all + said("more"));
}

TEST_F(RedactedLogTest, ShowsAnEndOnceItIsJson) {
  write(said("one"));
  const auto log = open();
  EXPECT_EQ(all_of(*log), said("one"));
  append(R"({"text":"t)");
  EXPECT_EQ(all_of(*log), said("one"));
  append("wo\"}");
  EXPECT_EQ(all_of(*log) + "\n", said("one") + said("two"));
  append("\n" + said("three"));
  EXPECT_EQ(all_of(*log), said("one") + said("two") + said("three"));
  EXPECT_TRUE(log->can_grow());
  open_many();
  EXPECT_EQ(all_of(*log), said("one") + said("two") + said("three"));
}

TEST_F(RedactedLogTest, KeepsItsLinesWhenTheLogIsChanged) {
  write(said("one") + said("two"));
  const auto log = open();
  EXPECT_EQ(all_of(*log), said("one") + said("two"));
  std::fstream(path(), std::ios::in | std::ios::out) << said("ONE");
  std::filesystem::last_write_time(path(), std::filesystem::file_time_type::clock::now() + std::chrono::seconds(9));
  EXPECT_FALSE(log->can_grow());
  EXPECT_EQ(all_of(*log), said("one") + said("two"));
  EXPECT_EQ(all_of(*open()), said("ONE") + said("two"));
}

TEST_F(RedactedLogTest, LeavesOutWhatItCannotScan) {
  write("not JSON " + token(1) + "\n" + said("word") + R"({"image":")" + "iVBORw0KGgo" + std::string(100, 'A') +
        "\"}\n");
  EXPECT_EQ(all_of(*open()), "[redacted:unscanned]\n" + said("word") + "{\"image\":\"[redacted:image]\"}\n");
  EXPECT_EQ(redaction_->lines_left_out(), 1U);
}

TEST_F(RedactedLogTest, SharesItsLinesAndLabels) {
  write(said("API_TOKEN=" + token(1)));
  write(said("DB_TOKEN=" + token(2)) + said("API_TOKEN=" + token(1)), "other.jsonl");
  EXPECT_EQ(open()->splice_file(), open()->splice_file());
  EXPECT_EQ(all_of(*open()), said("API_TOKEN=[redacted:environment#1]"));
  EXPECT_EQ(all_of(*open("other.jsonl")),
            said("DB_TOKEN=[redacted:environment#2]") + said("API_TOKEN=[redacted:environment#1]"));
}

TEST_F(RedactedLogTest, BeginsWithoutReadingOn) {
  write(said("one") + said("API_TOKEN=" + token(1)) + said(std::string(100'000, 'x')));
  const auto beginning = *open()->beginning(2000);
  EXPECT_EQ(*beginning->read(0, *beginning->size()),
            said("one") + said("API_TOKEN=[redacted:environment#1]") + "[redacted:unscanned]");
}

}  // namespace
}  // namespace arborfs
