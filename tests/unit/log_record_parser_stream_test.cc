// Records too long or too deep for the fast parser have the same fields, however they are spelled.

#include <gtest/gtest.h>

#include "core/formats/omp/log/omp_index.h"
#include "core/formats/omp/log/record_parser_stream.h"
#include "core/log/log_source.h"

namespace arborfs {
namespace {

using Kind = FieldValue::Kind;

/// The index of a log with a header and this one record, which is too deep for the fast parser.
std::unique_ptr<LogIndex> index_of(const std::string& members) {
  constexpr int kDeep = 3000;
  const std::string deep = std::string(kDeep, '[') + std::string(kDeep, ']');
  const std::string log =
      "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-02-16T10:20:30.000Z\"}\n{" + members +
      ",\"deep\":" + deep + "}\n";
  auto index = OmpIndex::build(*log_from_bytes(log));
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
  EXPECT_EQ(spelled("[" + std::string(StreamedRecord::kMaxContainer, ' ') + "1]"), "[]") << "too long to be kept";
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
  StreamedRecord record;
  const auto log = log_from_bytes("");
  LogWindow window(*log, 0);
  record.on_scalar("", "type", R"("abc\u00)", false);
  record.on_scalar("", "id", "null", true);
  record.on_scalar("", "label", "false", true);
  record.on_scalar("", "timestamp", "7", true);
  record.on_scalar("message", "role", "\"user\"", true);
  record.on_scalar("other", "role", "\"tool\"", true);
  auto fields = record.finish(window, 3, 4);
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->type.text, "abc");
  EXPECT_EQ(fields->id.kind, Kind::null);
  EXPECT_EQ(fields->label.kind, Kind::boolean);
  EXPECT_FALSE(fields->label.truth);
  EXPECT_EQ(fields->timestamp.number, 7);
  EXPECT_EQ(fields->role.text, "user");
  record.on_scalar("", "message", "1", true);
  EXPECT_EQ(record.finish(window, 0, 0)->role.kind, Kind::missing) << "a message that is no object has no role";
}

}  // namespace
}  // namespace arborfs
