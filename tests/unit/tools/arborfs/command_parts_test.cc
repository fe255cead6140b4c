// The small parts of the command line: words, columns, JSON for terminals, progress.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "core/base/suggestion.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/table.h"

namespace arborfs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CommandText, SizesAndCountsAreFormatted) {
  EXPECT_EQ(size_words(0), "0");
  EXPECT_EQ(size_words(1023), "1023");
  EXPECT_EQ(size_words(1024), "1.0K");
  EXPECT_EQ(size_words(10 * 1024), "10K");
  EXPECT_EQ(size_words((1 << 20) - 1), "1.0M");
  EXPECT_EQ(size_words(1ULL << 40), "1.0T");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(CommandText, TableShortensItsFlexibleColumn) {
  Table table({{"N", true}, {"TEXT", false, true}});
  table.add({"1", "a long piece of text"});
  table.add({"22", "short"});
  EXPECT_THAT(table.lines(0), ElementsAre(" N  TEXT", " 1  a long piece of text", "22  short"));
  EXPECT_THAT(table.lines(18), ElementsAre(" N  TEXT", " 1  a long pi…text", "22  short"));
  EXPECT_THAT(table.lines(12), ElementsAre(" N  TEXT", " 1  a long …", "22  short"));
}

TEST(CommandText, TableDropsTheLeastUsefulColumnFirst) {
  Table table({{"A", false, false, 2}, {"B", false, false, 1}, {"TEXT", false, true}});
  table.add({"aaaa", "bbbb", "a text that is longer than what is roomy"});
  EXPECT_THAT(table.lines(52), ElementsAre("A     B     TEXT", HasSubstr("aaaa  bbbb  a text")));
  EXPECT_THAT(table.lines(30), ElementsAre("A     TEXT", HasSubstr("aaaa  a text")));
  EXPECT_THAT(table.lines(24), ElementsAre("TEXT", HasSubstr("a text")));
}

TEST(CommandText, TableFitsEveryWidth) {
  Table table({{"WHEN", false, false, 1}, {"ID"}, {"PROJECT", false, true, 2}, {"TITLE", false, true}});
  table.add({"2026-02-16 10:20", "019c65b8", "home-sam-work-harbor", "Fix the flaky 漢字 upload test of the store"});
  table.add({"2026-02-16 10:20", "019c65b8", "", ""});
  for (std::size_t width = 1; width <= 200; ++width) {
    for (const std::string& line : table.lines(width)) {
      EXPECT_LE(columns_of(line), width) << line;
    }
  }
}

TEST(CommandText, NearestWordIsWithinTwoEdits) {
  const std::vector<std::string> verbs{"ls", "show", "tree", "completion"};
  EXPECT_EQ(nearest("shwo", verbs), "show");
  EXPECT_EQ(nearest("comlpetoin", verbs), "completion");
  EXPECT_EQ(nearest("l", verbs), "ls");
  EXPECT_EQ(nearest("sow", verbs), "show");
  EXPECT_EQ(nearest("xyz", verbs), "");
  EXPECT_EQ(nearest("", verbs), "");
  EXPECT_EQ(nearest(std::string(100'000, 's'), verbs), "");
}

TEST(TerminalSafeJson, EscapesAcrossPieceBoundaries) {
  const std::string json =
      "\"a\xc2\x9b"
      "b\xe2\x80\xae"
      "c\xf3\xa0\x80\x81"
      "d\xc3\xa9\x7f\"";
  const std::string safe = R"("a\u009bb\u202ec\udb40\udc01d)"
                           "\xc3\xa9"
                           R"(\u007f")";
  EXPECT_EQ(terminal_safe_json(json), safe);
  for (std::size_t at = 0; at <= json.size(); ++at) {
    TerminalSafeJson filter;
    std::string out;
    filter.feed(std::string_view(json).substr(0, at), out);
    filter.feed(std::string_view(json).substr(at), out);
    filter.finish(out);
    EXPECT_EQ(out, safe) << at;
  }
}

/// A stream that one thread writes and another reads.
class SharedText : public std::streambuf {
 public:
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 protected:
  int overflow(int character) override {
    const std::lock_guard lock(mutex_);
    text_ += static_cast<char>(character);
    return character;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::lock_guard lock(mutex_);
    text_.append(text, static_cast<std::size_t>(size));
    return size;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

TEST(ProgressTest, SlowWorkIsReportedOnTerminals) {
  std::ostringstream out;
  SharedText said;
  std::ostream err(&said);
  Terminal io{.out = out, .err = err, .err_is_terminal = true, .env = {}};
  {
    Progress slow(io, "reading", 3, std::chrono::milliseconds(1));
    slow.step();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (said.text().find("reading 1 of 3") == std::string::npos && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
  }
  EXPECT_THAT(said.text(), HasSubstr("reading 1 of 3"));
}

TEST(ProgressTest, QuickOrRedirectedWorkIsNotReported) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal io{.out = out, .err = err, .err_is_terminal = true, .env = {}};
  { const Progress quick(io, "reading"); }
  EXPECT_THAT(err.str(), IsEmpty());
  io.err_is_terminal = false;
  {
    const Progress mute(io, "reading", 3, std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_THAT(err.str(), IsEmpty());
}

}  // namespace
}  // namespace arborfs::cli
