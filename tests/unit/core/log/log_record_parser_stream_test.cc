// Records too long or too deep for the fast parser have the same fields, however they are spelled.

#include <gtest/gtest.h>

#include "core/formats/omp/log/reader.h"
#include "core/json/scan.h"
#include "core/log/log_source.h"

namespace arborfs {
namespace {

/// The index of a log with a header and this one record, which is too deep for the fast parser.
std::unique_ptr<LogIndex> index_of(const std::string& members) {
  constexpr int kDeep = 3000;
  const std::string deep = std::string(kDeep, '[') + std::string(kDeep, ']');
  const std::string log =
      "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-02-16T10:20:30.000Z\"}\n{" + members +
      ",\"deep\":" + deep + "}\n";
  auto index = omp::reader().index(*log_from_bytes(log), {});
  EXPECT_TRUE(index);
  EXPECT_EQ((*index)->size(), 1U);
  return std::move(*index);
}

TEST(StreamedRecord, IdsOfAnyKindAreKept) {
  const auto spelled = [](const std::string& id) { return index_of("\"type\":\"custom\",\"id\":" + id)->id(1).text; };
  EXPECT_EQ(spelled("\"plain\""), "plain");
  EXPECT_EQ(spelled(R"("\u0061b")"), "ab");
  EXPECT_EQ(spelled("12.50"), "12.5");
  EXPECT_EQ(spelled("true"), "true");
  EXPECT_EQ(spelled("[1, {\"a\" : 2}]"), "[1,{\"a\":2}]");
  EXPECT_EQ(spelled("[" + std::string(70'000, ' ') + "1]"), "[1]");
  EXPECT_EQ(spelled("[" + std::string(json::ValueScanner::kMaxObservedBytes, ' ') + "1]"), "[]")
      << "too long to be kept";
}

TEST(StreamedRecord, EscapedKeysAreRecognised) {
  const auto index = index_of(R"("\u0074ype":"message","\u0069d":"a1","\u006dessage":{"\u0072ole":"user"})");
  EXPECT_EQ(index->id(1).text, "a1");
  EXPECT_EQ(index->type_text(1), "message");
  EXPECT_EQ(index_of("\"type\":\"custom\",\"" + std::string(100, 'i') + "\":1,\"id\":\"b\"")->id(1).text, "b");
}

TEST(StreamedRecord, LongEscapedTextIsKept) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(index_of(R"("type":"custom","id":"a)" + text + '"')->id(1).text, "a" + text);
}

TEST(StreamedRecord, LastOfTwoFieldsWins) {
  EXPECT_EQ(index_of(R"("type":"custom","id":[1],"id":"second")")->id(1).text, "second");
  EXPECT_EQ(index_of(R"("type":"custom","id":"first","id":[2])")->id(1).text, "[2]");
}

TEST(StreamedRecord, LongTextIsCutAtACharacterBoundary) {
  const std::string text(json::ValueScanner::kMaxObservedBytes - 4, 'x');  // then a quote, and \u0 of the escape
  EXPECT_EQ(index_of("\"type\":\"custom\",\"id\":\"" + text + R"(\u0061bc")")->id(1).text, text);
}

TEST(StreamedRecord, MessageThatIsNoObjectHasNoRole) {
  const auto name_of = [](const std::string& members) {
    return std::string(index_of(R"("type":"message","id":"a",)" + members)->name(1));
  };
  EXPECT_EQ(name_of(R"("message":{"role":"user"},"other":{"role":"tool"})"), "user");
  EXPECT_EQ(name_of(R"("message":{"role":"user"},"message":1)"), "message");
}

}  // namespace
}  // namespace arborfs
