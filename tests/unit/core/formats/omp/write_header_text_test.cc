#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/header.h"
#include "core/json/change_member.h"
#include "core/json/date.h"
#include "tests/support/paths.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::omp {
namespace {

TEST(TitleOfFork, IsMarkedOnceAndFitsASlot) {
  EXPECT_EQ(title_of_fork("Kites", Dialect::omp13), "Kites (fork)");
  EXPECT_EQ(title_of_fork("Kites (fork)", Dialect::omp18), "Kites (fork)");
  EXPECT_EQ(title_of_fork("", Dialect::omp18), "");
  const std::string wide = [] {
    std::string text;
    for (int i = 0; i < 100; ++i) {
      text += "漢";
    }
    return text;
  }();
  EXPECT_EQ(title_of_fork(wide, Dialect::omp13), wide + " (fork)");
  const std::string cut = title_of_fork(wide, Dialect::omp18);
  EXPECT_TRUE(wide.starts_with(cut.substr(0, cut.find("…")))) << cut;
  EXPECT_TRUE(cut.ends_with("… (fork)")) << cut;
  for (const std::string source : {"", "user", "auto"}) {
    EXPECT_NE(title_slot_line(cut, source, 1'771'237'231'000).find("… (fork)\""), std::string::npos) << source;
  }
}

TEST(WriteHeaderText, SlotsMatchTheAgents) {
  json::testing::for_each_vector("titleSlot.jsonl", [](const json::Value& vector) {
    const json::Value& update = *json::member(vector, "update");
    const auto time = json::parse_date(*json::string_member(update, "updatedAt"));
    const std::string line = title_slot_line(json::string_member(update, "title").value_or(""),
                                             json::string_member(update, "source").value_or(""), *time);
    EXPECT_EQ(line, *json::string_member(vector, "line"));
    EXPECT_EQ(line.size(), 256U);
    EXPECT_TRUE(parse_title_slot_line(line));
  });
}

TEST(WriteHeaderText, SlotWithEscapedKeysIsRecognised) {
  std::string line = title_slot_line("First", "user", 1771237231000);
  const std::size_t key = line.find("\"pad\"");
  ASSERT_NE(key, std::string::npos);
  line.replace(key, 5, "\"\\u0070ad\"");
  const auto slot = parse_title_slot_line(line);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->title, "First");
  line.replace(line.find("\\u0070ad"), 8, "bad");
  EXPECT_FALSE(parse_title_slot_line(line)) << "without its padding";
}

/// A new header with the fields of `line`.
NewHeader header_like(const json::Value& line, Dialect dialect, bool is_fork) {
  const auto text = [&line](std::string_view key) { return std::string(json::string_member(line, key).value_or("")); };
  NewHeader header;
  header.dialect = dialect;
  header.id = text("id");
  header.timestamp_ms = json::parse_date(text("timestamp")).value_or(0);
  header.cwd = text("cwd");
  header.title = text("title");
  header.title_source = text("titleSource");
  header.parent_session = text("parentSession");
  header.is_fork = is_fork;
  header.prompt_cache_key = text("providerPromptCacheKey");
  return header;
}

TEST(WriteHeaderText, NewHeadersMatchTheAgents) {
  for (const std::string name :
       {"w13-basic", "w13-fork", "w13-fork-from", "w13-branched-a", "w13-title-a", "w13-new-session", "w18-basic",
        "w18-fork", "w18-fork-from", "w18-branched-a", "w18-new-session", "w18-ensure-on-disk"}) {
    SCOPED_TRACE(name);
    const Dialect dialect = name.starts_with("w18") ? Dialect::omp18 : Dialect::omp13;
    const auto lines =
        json::testing::lines_of(std::filesystem::path(arborfs::tests::kTestData) / "corpus" / name / "session.jsonl");
    const std::size_t at = dialect == Dialect::omp18 ? 1 : 0;
    const std::string want = at == 0 ? lines.at(0) + "\n" : lines.at(0) + "\n" + lines.at(1) + "\n";
    json::Document line;
    ASSERT_TRUE(json::parse(lines.at(at), line));
    EXPECT_EQ(new_header_lines(header_like(line, dialect, name.ends_with("-fork"))), want);
  }
}

TEST(WriteHeaderText, OlderHeadersHaveNoNewerFields) {
  NewHeader header;
  header.id = "i";
  header.cwd = "/w\"\n";
  header.title = "t";
  header.title_source = "user";
  header.prompt_cache_key = "k";
  EXPECT_EQ(new_header_lines(header),
            "{\"type\":\"session\",\"version\":3,\"id\":\"i\",\"timestamp\":\"1970-01-01T00:00:00.000Z\","
            "\"cwd\":\"/w\\\"\\n\",\"title\":\"t\"}\n");
}

TEST(WriteHeaderText, TitlesAreCleaned) {
  EXPECT_EQ(clean_title("plain"), "plain");
  EXPECT_EQ(clean_title("  a \t\n b\x7F"), "a b");
  EXPECT_EQ(clean_title("a\xC2\x85"
                        "b\xC2\xA0"
                        "c"),
            "a b\xC2\xA0"
            "c");
  EXPECT_EQ(clean_title("\x01\x02"), "");
  EXPECT_EQ(clean_title(""), "");
  EXPECT_EQ(clean_title("日本 語"), "日本 語");
}

std::string with(std::string_view object, std::string_view key, std::optional<std::string_view> value) {
  const auto result = json::change_member(object, key, value);
  return result ? *result : "error";
}

TEST(WriteHeaderText, MemberIsReplacedInPlace) {
  EXPECT_EQ(with(R"({ "a" : 1.0 , "b" :2})", "a", "[3]"), R"({ "a" : [3] , "b" :2})");
  EXPECT_EQ(with(R"({ "a" : 1.0 , "b" :2} )", "c", "3"), R"({ "a" : 1.0 , "b" :2,"c":3} )");
  EXPECT_EQ(with("{}", "c\"", "3"), R"({"c\"":3})");
  EXPECT_EQ(with("{ }", "c", "3"), R"({"c":3 })");
  EXPECT_EQ(with(R"({"a":{"b":1},"b":2})", "b", "3"), R"({"a":{"b":1},"b":3})") << "not in depth";
  EXPECT_EQ(with(R"({"x":"a","a":1})", "a", "3"), R"({"x":"a","a":3})") << "not in values";
}

TEST(WriteHeaderText, KeysAreComparedDecodedAndTheLastWins) {
  EXPECT_EQ(with(R"({"\u0061":1,"b":2})", "a", "3"), R"({"\u0061":3,"b":2})");
  EXPECT_EQ(with(R"({"a":1,"b":2,"a":4})", "a", "3"), R"({"a":1,"b":2,"a":3})");
  EXPECT_EQ(with(R"({"a":1,"b":2,"\u0061":4})", "a", std::nullopt), R"({"b":2})");
}

TEST(WriteHeaderText, MemberIsRemovedWithOneComma) {
  EXPECT_EQ(with(R"({ "a":1 , "b":2, "c":3 })", "a", std::nullopt), R"({ "b":2, "c":3 })");
  EXPECT_EQ(with(R"({ "a":1 , "b":2, "c":3 })", "b", std::nullopt), R"({ "a":1 , "c":3 })");
  EXPECT_EQ(with(R"({ "a":1 , "b":2, "c":3 })", "c", std::nullopt), R"({ "a":1 , "b":2 })");
  EXPECT_EQ(with(R"({"a":1})", "a", std::nullopt), "{}");
  EXPECT_EQ(with(R"({"a":1})", "b", std::nullopt), R"({"a":1})");
}

TEST(WriteHeaderText, OnlyObjectsHaveMembers) {
  for (const char* text : {"", " ", "[]", "1", "{", R"({"a":1}x)", R"({"a":1}{})", R"({"a"})", "{'a':1}"}) {
    const auto result = json::change_member(text, "a", "1");
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, Errc::invalid_argument);
  }
}

TEST(WriteHeaderText, CorpusHeadersKeepTheirOtherBytes) {
  for (const std::string& line : json::testing::corpus_lines()) {
    json::Document value;
    if (!json::parse(line, value) || !value.IsObject() || json::member(static_cast<const json::Value&>(value), "zz")) {
      continue;
    }
    const auto added = json::change_member(line, "zz", "\"v\"");
    ASSERT_TRUE(added.has_value());
    EXPECT_EQ(with(*added, "zz", std::nullopt), line);
  }
}

}  // namespace
}  // namespace arborfs::omp
