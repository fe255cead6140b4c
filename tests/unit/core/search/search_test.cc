// Queries, folding, excerpts, and which sessions a search finds.
#include "core/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "core/base/cancellation.h"
#include "core/formats/omp/store/store.h"
#include "core/json/utf8.h"
#include "core/search/period.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::search {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TempStore;
using ::testing::UnorderedElementsAre;

TEST(SearchFold, LettersOfEveryCaseMeet) {
  EXPECT_EQ(folded("FooBAR_9"), "foobar_9");
  EXPECT_EQ(folded("ΣΟΦΌΣ"), folded("σοφός"));
  EXPECT_EQ(folded("KÖLN"), "köln");
  EXPECT_EQ(folded("\u212A"), "k") << "the Kelvin sign";
  EXPECT_EQ(folded("日本語"), "日本語");
  EXPECT_EQ(folded("a\xff\xc3"), "a\xff\xc3") << "not UTF-8";
  std::string ascii;
  std::string lower;
  for (int c = 0; c < 0x80; ++c) {
    ascii += static_cast<char>(c);
    lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
  }
  for (std::size_t begin = 0; begin < 16; ++begin) {
    EXPECT_EQ(folded(ascii.substr(begin)), lower.substr(begin)) << begin;
    EXPECT_EQ(folded(ascii.substr(begin) + "Ö" + ascii), lower.substr(begin) + "ö" + lower) << begin;
  }
}

TEST(SearchQuery, WordsPhrasesExclusionsAndFilters) {
  const auto query = parse_query(R"(Race "two words" -not -"not this" agent:claude role:user tool:Bash a::b x:y)");
  ASSERT_TRUE(query);
  EXPECT_THAT(query->wanted, ElementsAre("race", "two words", "a::b", "x:y"));
  EXPECT_THAT(query->unwanted, ElementsAre("not", "not this"));
  EXPECT_EQ(query->agent, "claude");
  EXPECT_EQ(query->role, "user");
  EXPECT_EQ(query->tool, "bash");
  EXPECT_TRUE(query->filters_entries());
}

TEST(SearchQuery, DatesAreTimes) {
  const testing::Variable zone("TZ", "UTC");
  const auto query = parse_query("after:2026-02-16 before:2026-02-17T10:00:00Z");
  ASSERT_TRUE(query);
  EXPECT_EQ(query->after_ms, 1771200000000);
  EXPECT_EQ(query->before_ms, 1771322400000);
}

TEST(SearchQuery, OddQueriesAreRefusedOrWords) {
  for (const char* text :
       {"", "  ", "\"\"", "-only", "after:soon", "before:2026-02-30", "agent:a agent:b", "-role:user x"}) {
    EXPECT_EQ(parse_query(text).error().code, Errc::invalid_argument) << text;
  }
  EXPECT_EQ(parse_query("\xff").error().code, Errc::not_utf8);
  EXPECT_EQ(parse_query(std::string(2000, 'x')).error().code, Errc::too_large);
  EXPECT_THAT(parse_query("agent::x -")->wanted, ElementsAre("agent::x", "-"));
}

TEST(SearchQuery, PeriodsAreThoseOfTheCommandLine) {
  for (const std::string word :
       {"today", "yesterday", "this-week", "last-week", "last-month", "this-year", "2026-02"}) {
    const auto query = parse_query("after:" + word + " before:" + word);
    ASSERT_TRUE(query) << word;
    EXPECT_EQ(query->after_ms, start_of(word)) << word;
    EXPECT_EQ(query->before_ms, start_of(word)) << word;
  }
  EXPECT_EQ(parse_query("after:\"last week\"")->after_ms, start_of("last-week"));
}

TEST(SearchQuery, MistakesAreExplained) {
  EXPECT_THAT(parse_query("after:lastweek").error().message, ::testing::EndsWith("did you mean 'last-week'?"));
  EXPECT_EQ(parse_query("x \"open words").error().message,
            "the quotation mark before 'open words' is not closed; write one behind the phrase, too");
  EXPECT_EQ(parse_query("title:\"open").error().code, Errc::invalid_argument);
  EXPECT_EQ(misspelt_filter(*parse_query("x tol:bash")), "'tol:' is no filter; did you mean 'tool:'?");
  EXPECT_EQ(misspelt_filter(*parse_query("http://x tool:bash a::b")), "");
}

TEST(SearchQuery, NamesOfFoldersSpellSlashes) {
  EXPECT_EQ(query_named("\"src%2Fa.ts\" %2f %252F 100%"), "\"src/a.ts\" / %2F 100%");
}

TEST(SearchExcerpt, MarksTheWordsOfTheBestLine) {
  EXPECT_EQ(excerpt_of("\n```\nedit\npath: a.go\n```\n", {}, 80).text, "edit path: a.go")
      << "a fence says nothing, and the tool alone not enough";
  const Excerpt one = excerpt_of("race\nthe Race condition\n", {"race", "condition"}, 80);
  EXPECT_EQ(marked(one, "[", "]"), "the [Race] [condition]");
  const Excerpt cut = excerpt_of(std::string(300, 'x') + " ΣΟΦΌΣ " + std::string(300, 'y'), {folded("σοφός")}, 60);
  EXPECT_EQ(marked(cut, "[", "]"), "…" + std::string(19, 'x') + " [ΣΟΦΌΣ] " + std::string(34, 'y') + "…");
}

TEST(SearchExcerpt, WordsAreShownWhereverTheyStandInALongLine) {
  std::string before;
  for (unsigned i = 1; before.size() < 300'000; ++i) {
    before += "日本é x";
    if (i % 499 == 0) {
      const Excerpt excerpt = excerpt_of(before + " needle " + std::string(100, 'y'), {"needle"}, 60);
      ASSERT_EQ(excerpt.marks.size(), 1U) << i;
      ASSERT_THAT(marked(excerpt, "[", "]"), AllOf(StartsWith("…"), HasSubstr("é x [needle] y"), EndsWith("y…")));
    }
  }
  for (const std::size_t end : {65535, 65536, 65537}) {
    const std::string line = std::string(end - 6, 'x') + "needle" + std::string(100'000, 'y');
    const std::string shown = marked(excerpt_of(line, {"needle"}, 60), "[", "]");
    EXPECT_EQ(shown, "…" + std::string(20, 'x') + "[needle]" + std::string(34, 'y') + "…") << end;
  }
  EXPECT_EQ(excerpt_of(std::string(200'000, 'x'), {}, 10).text, "xxxxxxxxxx…");
  std::string wide;
  for (int i = 0; i < 100; ++i) {
    wide += i == 50 ? " needle " : "日本";
  }
  EXPECT_EQ(excerpt_of(wide, {"needle"}, 30).text, "…日本日本 needle 日本日本日本日…") << "of 30 columns";
}

class SearchIn : public ::testing::Test {
 protected:
  void put(const std::string& id, const std::string& title, const std::string& lines) {
    temp.write("-work", id,
               R"({"type":"session","version":3,"id":")" + id +
                   R"(","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work",)" + R"("title":")" + title + "\"}\n" +
                   lines);
    catalog.rescan();
  }
  static std::string message(const std::string& id, const std::string& role, const std::string& text,
                             const std::string& day = "16") {
    return R"({"type":"message","id":")" + id + R"(","parentId":null,"timestamp":"2026-02-)" + day +
           R"(T10:20:30.000Z","message":{"role":")" + role + R"(","content":[{"type":"text","text":")" + text +
           "\"}]}}\n";
  }
  std::vector<std::string> ids(const std::string& text) {
    std::vector<std::string> found;
    const auto query = parse_query(text);
    EXPECT_TRUE(query);
    const auto result = search(catalog, *query);
    for (const Match& match : result->matches) {
      found.push_back(match.shown->session()->head().header.id);
    }
    return found;
  }
  TempStore temp;
  Catalog catalog{omp::open_store(temp.root()), "/home/dev", ""};
};

TEST_F(SearchIn, AllWordsMustOccurSomewhereInASession) {
  put("both", "One", message("aaaa0001", "user", "the race") + message("aaaa0002", "assistant", "a Condition"));
  put("half", "Two", message("aaaa0001", "user", "the race"));
  EXPECT_THAT(ids("race condition"), ElementsAre("both"));
  EXPECT_THAT(ids("\"race condition\""), IsEmpty());
  EXPECT_THAT(ids("race -condition"), ElementsAre("half"));
  EXPECT_THAT(ids("acE onditio"), ElementsAre("both")) << "parts of words";
}

TEST_F(SearchIn, FiltersChooseSessionsAndEntries) {
  put("one", "Flaky upload",
      message("aaaa0001", "user", "cache", "16") + message("aaaa0002", "assistant", "other", "18"));
  put("two", "Other", message("aaaa0001", "assistant", "cache", "18"));
  EXPECT_THAT(ids("cache role:user"), ElementsAre("one"));
  EXPECT_THAT(ids("cache after:2026-02-17"), ElementsAre("two"));
  EXPECT_THAT(ids("cache before:2026-02-17"), ElementsAre("one"));
  EXPECT_THAT(ids("title:FLAKY"), ElementsAre("one"));
  EXPECT_THAT(ids("cache agent:pi"), IsEmpty());
  EXPECT_THAT(ids("cache project:nowhere"), IsEmpty());
}

TEST_F(SearchIn, APathFindsTheSessionsThatTouchedIt) {
  const auto call = [](const std::string& arguments) {
    return R"({"type":"message","id":"aaaa0009","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":)"
           R"({"role":"assistant","content":[{"type":"toolCall","id":"c","name":"edit","arguments":)" +
           arguments + "}]}}\n";
  };
  put("main", "One", call(R"({"path":"src/main.cc"})"));
  put("other", "Two", call(R"({"path":"/srv/src/main.cc"})") + message("aaaa0001", "user", "a word"));
  put("says", "Three", message("aaaa0001", "user", "look at src/main.cc"));
  EXPECT_THAT(ids("path:/work/src/main.cc"), ElementsAre("main"));
  EXPECT_THAT(ids("path:/work/./src/main.cc"), ElementsAre("main"));
  EXPECT_THAT(ids("path:src/main.cc"), UnorderedElementsAre("main", "other"));
  EXPECT_THAT(ids("path:main.cc word"), ElementsAre("other"));
  EXPECT_THAT(ids("path:ain.cc"), IsEmpty()) << "a part of a name";
  EXPECT_THAT(ids("path:/work/src/"), ElementsAre("main"));
  EXPECT_THAT(ids("path:/work/"), ElementsAre("main"));
  EXPECT_THAT(ids("path:src/"), UnorderedElementsAre("main", "other"));
  EXPECT_THAT(ids("path:/work/src"), IsEmpty()) << "a folder needs its slash";
  EXPECT_THAT(ids("path:/Work/src/main.cc"), IsEmpty()) << "names have a case";
  EXPECT_EQ(parse_query("path:.").error().code, Errc::invalid_argument);
  EXPECT_EQ(parse_query("path:a path:b").error().code, Errc::invalid_argument);
}

TEST_F(SearchIn, HitsNameTheEntriesWithMostWords) {
  put("one", "One",
      message("aaaa0001", "user", "race") + message("aaaa0002", "assistant", "race condition") +
          message("aaaa0003", "user", "condition"));
  Options options;
  options.most_hits = 1;
  const auto found = search(catalog, *parse_query("race condition"), options);
  ASSERT_EQ(found->matches.size(), 1U);
  EXPECT_TRUE(found->matches[0].has_more);
  ASSERT_EQ(found->matches[0].hits.size(), 1U);
  EXPECT_EQ(found->matches[0].hits[0].stem, "000002-assistant-aaaa0002");
}

TEST_F(SearchIn, SessionsWithTheWordMoreOftenComeFirst) {
  put("rare", "One", message("aaaa0001", "user", "cache and " + std::string(400, 'x')));
  put("often", "Two", message("aaaa0001", "user", "cache cache cache"));
  EXPECT_THAT(ids("cache"), ElementsAre("often", "rare"));
}

TEST_F(SearchIn, OfEqualSessionsTheOneThatChangedLastComesFirst) {
  const auto now = std::filesystem::file_time_type::clock::now();
  int age = 0;
  for (const std::string id : {"b", "d", "a", "c"}) {
    put(id, "Same", message("aaaa0001", "user", "cache"));
    std::filesystem::last_write_time(temp.log("-work", id), now - std::chrono::hours(++age));
  }
  catalog.rescan();
  EXPECT_THAT(ids("cache"), ElementsAre("b", "d", "a", "c"));
  EXPECT_THAT(ids("title:same"), ElementsAre("b", "d", "a", "c"));
}

TEST_F(SearchIn, CancelledSearchesEnd) {
  put("one", "One", message("aaaa0001", "user", "race"));
  std::stop_source stop;
  stop.request_stop();
  const Cancellation cancellation(stop.get_token());
  EXPECT_EQ(search(catalog, *parse_query("race"), Options()).error().code, Errc::interrupted);
}

}  // namespace
}  // namespace arborfs::search
