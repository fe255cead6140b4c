// The plain parser accepts no line that JSON.parse refuses, and reads the fields as it does.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "core/formats/omp/log/record_parser_simd.h"
#include "core/json/document.h"
#include "core/json/escapes.h"

namespace arborfs {
namespace {

constexpr std::string_view kPadding = "\"}]9\\u00e9,1234567890123456789012345678901234567890123456789012345678901234";

// The text is followed by bytes that a parser must not take as part of it.
bool parse(std::string_view text, RecordFields& record) {
  static SimdRecordParser parser;
  static std::string bytes;
  bytes = std::string(text) + std::string(kPadding);
  return parser.parse(std::string_view(bytes).substr(0, text.size()), record);
}

bool takes(std::string_view text) {
  RecordFields record;
  return parse(text, record);
}

void expect_field(const FieldValue& field, const json::Value* value, std::string_view text) {
  switch (field.kind) {
    case FieldValue::Kind::missing:
      EXPECT_EQ(value, nullptr) << text;
      break;
    case FieldValue::Kind::null:
      EXPECT_TRUE(value != nullptr && value->IsNull()) << text;
      break;
    case FieldValue::Kind::boolean:
      EXPECT_TRUE(value != nullptr && value->IsBool() && value->GetBool() == field.truth) << text;
      break;
    case FieldValue::Kind::string:
      EXPECT_TRUE(json::is_string(value, field.text)) << text << "\n" << field.text;
      break;
    default:
      ADD_FAILURE() << "not a plain field: " << text;
  }
}

// True if the text was accepted.
bool check(std::string_view text) {
  RecordFields record;
  if (!parse(text, record)) {
    return false;
  }
  json::Document value;
  EXPECT_TRUE(json::parse(text, value)) << text;
  EXPECT_EQ(record.shape == RecordFields::Shape::array, value.IsArray()) << text;
  expect_field(record.id, json::member(value, "id"), text);
  expect_field(record.parent, json::member(value, "parentId"), text);
  expect_field(record.type, json::member(value, "type"), text);
  expect_field(record.timestamp, json::member(value, "timestamp"), text);
  expect_field(record.target, json::member(value, "targetId"), text);
  expect_field(record.label, json::member(value, "label"), text);
  const json::Value* message = json::member(value, "message");
  expect_field(record.role, message == nullptr ? nullptr : json::member(*message, "role"), text);
  return true;
}

constexpr std::string_view kRecords[] = {
    R"({"type":"message","id":"5358d0eb","parentId":null,"timestamp":"2026-01-05T08:00:30.622Z","message":)"
    R"({"role":"user","content":[{"type":"text","text":"a\n\"b\"\\ \u00e9\ud83d\ude00 ünï"}],"n":[1,-0.5e+10,0,[],{}]}})",
    R"({"type":"label","id":"a","parentId":"b","targetId":"c","label":null,"x":{"id":"deep","message":{"role":"x"}}})",
    R"( {"id" : "a" , "message" : [ { "role" : "no" } ] , "label":true,"x":[true,false,null] })",
    R"([{"id":"no"},"message",{"role":"no"},[[]]])",
    R"({"message":{"role":"a"},"message":{"x":{"role":"no"}},"id":"1","id":"2"})",
    R"({})",
    R"([])",
};

std::string_view trimmed(std::string_view text) {
  return text.substr(text.find_first_not_of(' '));
}

TEST(SimdRecordParser, PlainRecordsAreParsedWithTheirFields) {
  for (const std::string_view record : kRecords) {
    EXPECT_TRUE(check(trimmed(record))) << record;
  }
}

TEST(SimdRecordParser, MutatedRecordsParseLikeJsonOrAreRejected) {
  constexpr std::string_view kBytes = "\"\\,:{}[] \n\t\r0-1.eEtfnu/\x01\x80\xC3\xFFz";
  int taken = 0;
  for (const std::string_view untrimmed : kRecords) {
    const std::string_view record = trimmed(untrimmed);
    for (std::size_t at = 0; at < record.size(); ++at) {
      std::string without(record);
      without.erase(at, 1);
      for (const char byte : kBytes) {
        std::string replaced(record);
        replaced[at] = byte;
        std::string added(record);
        added.insert(at, 1, byte);
        for (const std::string& text : {replaced, added, without}) {
          const bool starts = text.starts_with('{') || text.starts_with('[');
          taken += starts && text.find_last_not_of(" \n\t\r") + 1 == text.size() && check(text) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(taken, 1000);
}

TEST(SimdRecordParser, InvalidJsonIsRejected) {
  for (const char* const text : {"{",
                                 "[",
                                 "[1",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "[1,]",
                                 "[,1]",
                                 "[01]",
                                 "[-]",
                                 "[1.]",
                                 "[.5]",
                                 "[1e]",
                                 "[+1]",
                                 "[tru]",
                                 "[truex]",
                                 "[True]",
                                 "[nul]",
                                 "[NaN]",
                                 "[1 2]",
                                 "[\"a\"b]",
                                 "[1\"a\"]",
                                 "[\"a\" \"b\"]",
                                 "{1:2}",
                                 "[}",
                                 "{]",
                                 "[]]",
                                 "{}{}",
                                 "[1]2",
                                 "[\"\\x\"]",
                                 "[\"\\u12g4\"]",
                                 "[\"\\\"]",
                                 "[\"\\\\\\q\"]",
                                 "[\\\"a\"]",
                                 "[\"\x01\"]",
                                 "[\"\x80\"]",
                                 "[\"\xED\xA0\x80\"]",
                                 "{\"a\":1 \"b\":2}",
                                 "{\"a\",1}",
                                 "[\"\\u\"]"}) {
    EXPECT_FALSE(takes(text)) << text;
  }
}

TEST(SimdRecordParser, RecordsWithUnusualFieldsAreRejected) {
  for (const char* const text :
       {R"({"id":5})", R"({"id":["a"]})", R"({"label":{}})", R"({"id":"\u0061"})", R"({"\u0069d":"a"})",
        R"({"message":{"role":"\u0061"}})", R"({"message":{"role":[]}})", R"({"message":{"r\u006fle":"a"}})"}) {
    EXPECT_FALSE(takes(text)) << text;
  }
}

TEST(SimdRecordParser, DeepRecordsAreRejected) {
  EXPECT_TRUE(takes(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(takes(std::string(65, '[') + std::string(65, ']')));
}

TEST(Escapes, InvalidEscapesAreFoundAtEveryPosition) {
  const auto is_valid = [](const std::string& text) {
    const std::string bytes = text + std::string(json::kEscapePadding, '\\');
    return json::has_valid_escapes(std::string_view(bytes).substr(0, text.size()));
  };
  std::vector<std::size_t> places(130);
  std::iota(places.begin(), places.end(), 0);
  for (const std::size_t border : {2048, 4096}) {  // of the blocks that are classified at once
    for (std::size_t place = border - 12; place <= border + 2; ++place) {
      places.push_back(place);
    }
  }
  for (const std::size_t before : places) {
    const std::string start(before, 'x');
    for (const char* const good :
         {"", "\\n", "\\\\", "\\\\\\\\", "\\\\n", "\\\\q", "\\\"q", "\\u00eF", "\\ud800", "\\/\\b\\f\\r\\t"}) {
      EXPECT_TRUE(is_valid(start + good + "\"")) << before << good;
      EXPECT_TRUE(is_valid(start + good + std::string(70, 'y'))) << before << good;
    }
    for (const char* const bad : {"\\q", "\\\\\\q", "\\U00e9", "\\u00e", "\\n\\u0g00", "\\ "}) {
      EXPECT_FALSE(is_valid(start + bad + "\"")) << before << bad;
      EXPECT_FALSE(is_valid(start + bad + "\"" + std::string(70, 'y'))) << before << bad;
    }
  }
}

}  // namespace
}  // namespace arborfs
