// Very long commands, which must not be held in memory more often than needed.
#include <gtest/gtest.h>

#include "core/formats/omp/edit/append_command.h"
#include "core/json/document.h"

namespace arborfs {
namespace {

TEST(ParseInPlace, EqualsParse) {
  for (const std::string text : {
           R"({"a":1,"b":[true,null,"x"],"c":{}})",
           R"(  {"plain":"text","\u0065scaped":"a\n\t\"\\\/b\u00e9\u4e2d\ud83d\ude00\ud800 end","":""} )",
           R"({"b":1,"a":"\u0041","b":"\\","1":2,"\u0030":"\b\f\r"})",
           R"(["\ud800\ud800","\udc00","\u0000"])",
           "[]",
           "-1.5e3",
           R"({"a":)",
           R"(["\x"])",
           R"(["\u12"])",
           "",
       }) {
    json::Document wanted;
    json::Document found;
    std::string bytes = text;
    ASSERT_EQ(json::parse_in_place(bytes, found), json::parse(text, wanted)) << text;
    EXPECT_EQ(json::stringify(found), json::stringify(wanted)) << text;
  }
}

TEST(ParseInPlace, LeavesStringsInTheText) {
  std::string bytes = R"(["plain","esc\u0061ped"])";
  json::Document found;
  ASSERT_TRUE(json::parse_in_place(bytes, found));
  for (const json::Value& value : found.GetArray()) {
    EXPECT_GE(value.GetString(), bytes.data());
    EXPECT_LT(value.GetString(), bytes.data() + bytes.size());
  }
}

TEST(MemoryForJson, CountsValuesOfTheLargestObjectOutsideStrings) {
  const std::string few = R"({"a":"[[[,,,:::\",\\","b":1})";
  const std::string many = R"({"a":[1,2,3,4,5,6,7,8,9,10]})";
  const auto values = [](const std::string& text) { return omp::memory_for_json(text) - text.size(); };
  EXPECT_EQ(values(few), values(R"({"a":"","b":1})"));
  EXPECT_GT(values(many), values(few));
  EXPECT_EQ(values(few + "\n" + many + few), values(many));
  EXPECT_GE(values("{\n\"a\":\n[1,\n2]}"), values("{\"a\":[1,2]}"));
  EXPECT_GT(omp::memory_for_json("{\"a\":[" + std::string(4'000'000, ',') + "]}"), omp::kMaxCommandMemory);
  for (const std::string broken : {"\"", "{\"a\\", "]]]]}}}}", "\"\n\"\\\""}) {
    EXPECT_GE(omp::memory_for_json(broken), broken.size());
  }
}

}  // namespace
}  // namespace arborfs
