#include <cmath>
#include <limits>

#include "core/json/document.h"
#include "core/json/text_bytes.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::json {
namespace {

std::string reprint(std::string_view text) {
  Document document;
  return parse(text, document) ? stringify(document) : "(no JSON)";
}

TEST(JsonDocument, NumbersOfTheVectorsArePrinted) {
  testing::for_each_vector("numbers.jsonl",
                           [](const Value& vector) { EXPECT_EQ(reprint(as_string(vector[0])), as_string(vector[1])); });
}

TEST(JsonDocument, StringsOfTheVectorsArePrinted) {
  testing::for_each_vector("jsonStrings.jsonl", [](const Value& vector) {
    std::string text;
    const auto& units = vector[0];
    for (rapidjson::SizeType i = 0; i < units.Size(); ++i) {
      auto c = static_cast<char32_t>(units[i].GetDouble());
      if (is_high_surrogate(c) && i + 1 < units.Size()) {
        const auto low = static_cast<char32_t>(units[i + 1].GetDouble());
        if (is_low_surrogate(low)) {
          c = join_surrogates(c, low);
          ++i;
        }
      }
      append_code_point(text, c);
    }
    std::string literal;
    stringify_string(text, literal);
    EXPECT_EQ(literal, as_string(vector[1]));
    EXPECT_EQ(reprint(literal), literal);
  });
}

TEST(JsonDocument, ShortStringsArePrintedAsLongOnes) {
  const std::string rest(100, '.');
  for (const std::size_t length : {1, 7, 8, 9, 17}) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, 'x');
        text[at] = static_cast<char>(byte);
        const std::string longer = stringify_string(text + rest);
        EXPECT_EQ(stringify_string(text), longer.substr(0, longer.size() - 1 - rest.size()) + "\"");
      }
    }
  }
}

TEST(JsonDocument, ExtremeNumbersArePrintedAsInJavaScript) {
  EXPECT_EQ(number_text(0.000001), "0.000001");
  EXPECT_EQ(number_text(-0.0000001), "-1e-7");
  EXPECT_EQ(number_text(-0.0), "0");
  EXPECT_EQ(number_text(123456.789), "123456.789");
  EXPECT_EQ(number_text(9007199254740993.0), "9007199254740992");
  EXPECT_EQ(number_text(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(number_text(std::nan("")), "null");
  EXPECT_EQ(reprint("[" + std::string(400, '9') + "]"), "[null]");
  EXPECT_EQ(reprint("0." + std::string(400, '0') + "1"), "0");
  EXPECT_EQ(reprint("0." + std::string(400, '0') + "1e402"), "10");
  EXPECT_EQ(reprint("1" + std::string(400, '0') + "e-400"), "1");
  EXPECT_EQ(reprint("[1e99999999999999999999,1e-99999999999999999999,0e99999999999999999999]"), "[null,0,0]");
  EXPECT_EQ(reprint("-1" + std::string(400, '0') + "e-800"), "0");
  Document document;
  ASSERT_TRUE(parse("-1e999", document));
  EXPECT_EQ(document.GetDouble(), -std::numeric_limits<double>::infinity());
}

TEST(JsonDocument, KeysAreOrderedAsInJavaScript) {
  EXPECT_EQ(reprint(R"({"b":1,"a":2,"b":{"c":3}})"), R"({"b":{"c":3},"a":2})");
  EXPECT_EQ(reprint(R"({"x":0,"10":1,"9":2,"01":3,"-1":4,"4294967294":5,"4294967295":6,"1.0":7,"":8})"),
            R"({"9":2,"10":1,"4294967294":5,"x":0,"01":3,"-1":4,"4294967295":6,"1.0":7,"":8})");
  EXPECT_EQ(reprint(R"([{"a":{"2":[{"b":1,"b":2}],"1":0,"\u0031":5}}])"), R"([{"a":{"1":5,"2":[{"b":2}]}}])");
  EXPECT_EQ(reprint(R"({"__proto__":1,"\u005f_proto__":2})"), R"({"__proto__":2})");
  std::string many = "{";
  for (int i = 0; i < 1000; ++i) {
    many += (i > 0 ? ",\"k" : "\"k") + std::to_string(i % 500) + "\":" + std::to_string(i);
  }
  Document document;
  ASSERT_TRUE(parse(many + "}", document));
  EXPECT_EQ(document.MemberCount(), 500U);
  EXPECT_EQ(member(document, "k7")->GetDouble(), 507);
}

TEST(JsonDocument, LoneSurrogatesAreEscapedAndBadBytesReplaced) {
  EXPECT_EQ(reprint(R"("\ud83d\ude00 \uD83D \uDE00\uD83D \ud83d\u0041")"), "\"😀 \\ud83d \\ude00\\ud83d \\ud83dA\"");
  EXPECT_EQ(reprint(R"("\ud83d\ud83d\ude00")"), "\"\\ud83d😀\"");
  EXPECT_EQ(reprint("\"a\xFF\xED\xA0\xBD z\""), "\"a\uFFFD\uFFFD\uFFFD\uFFFD z\"");
  EXPECT_EQ(reprint("\"\xED\x9F\xBF\""), "\"\xED\x9F\xBF\"");
  EXPECT_EQ(reprint(R"("\/\u0000\u001F\u007f\u2028")"), "\"/\\u0000\\u001f\x7F\u2028\"");
}

TEST(JsonDocument, RefusesInvalidJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{\"a\" 1}",
                           "{a:1}",
                           "01",
                           "+1",
                           ".5",
                           "1.",
                           "1e",
                           "-",
                           "NaN",
                           "tru",
                           "truex",
                           "'a'",
                           "\"a",
                           "\"\\x41\"",
                           "\"\\u12\"",
                           "\"\\ud83d\\u12\"",
                           "\"\t\"",
                           "[1 2]",
                           "1 2",
                           "[1}",
                           "{\"a\":1]",
                           "]",
                           "\"\\",
                           "\xEF\xBB\xBF{}",
                           "{,}",
                           "[,]",
                           "{1:2}"}) {
    Document document;
    document.SetInt(1);
    EXPECT_FALSE(parse(text, document)) << text;
    EXPECT_TRUE(document.IsNull()) << text;
  }
  EXPECT_EQ(reprint(" \r\n\t[ 1 , { \"a\" : null , \"b\" : [ ] , \"c\" : { } } ] \n"),
            R"([1,{"a":null,"b":[],"c":{}}])");
}

TEST(JsonDocument, MillionLevelsNeedNoStack) {
  testing::on_small_stack([] {
    constexpr std::size_t kDepth = 1'000'000;
    const std::string arrays = std::string(kDepth, '[') + std::string(kDepth, ']');
    EXPECT_EQ(reprint(arrays), arrays);
    std::string objects;
    for (std::size_t i = 0; i < kDepth / 4; ++i) {
      objects += R"({"a":{"a":0,"1":[)";  // out of order, so that sorting happens too
    }
    Document document;
    EXPECT_FALSE(parse(objects, document));
    objects += "0";
    for (std::size_t i = 0; i < kDepth / 4; ++i) {
      objects += "]}}";
    }
    ASSERT_TRUE(parse(objects, document));
    Document other;
    const Value copied = copy(document, other);
    EXPECT_TRUE(stringify(copied).starts_with(R"({"a":{"1":[{"a":)"));
    EXPECT_EQ(stringify(copied), stringify(document));
    EXPECT_TRUE(is_canonical(stringify(copied)));
    EXPECT_FALSE(is_canonical(objects));
  });
}

TEST(JsonDocument, ReadsMembers) {
  Document document;
  ASSERT_TRUE(parse(R"({"s":"text","n":0,"e":"","o":{},"f":false,"z":null,"m":1})", document));
  EXPECT_EQ(string_member(document, "s"), "text");
  EXPECT_EQ(string_member(document, "n"), std::nullopt);
  EXPECT_EQ(string_member(document, "none"), std::nullopt);
  EXPECT_EQ(member(*member(document, "s"), "x"), nullptr);
  EXPECT_TRUE(is_string(member(document, "s"), "text"));
  EXPECT_FALSE(is_string(member(document, "none"), "text"));
  for (const char* falsy : {"n", "e", "f", "z", "none"}) {
    EXPECT_FALSE(is_truthy(member(document, falsy))) << falsy;
  }
  for (const char* truthy : {"s", "o", "m"}) {
    EXPECT_TRUE(is_truthy(member(document, truthy))) << truthy;
  }
}

TEST(JsonDocument, BuildsChangesAndCopies) {
  Document document;
  document.SetObject();
  std::string source = "a value that is longer than what fits inside";
  set(document, "a", make_string(source, document), document);
  set(document, "b", Value(2), document);
  set(document, "c", Value(true), document);
  set(document, "b", make_string("", document), document);
  source.assign(source.size(), '?');
  EXPECT_EQ(stringify(document), R"({"a":"a value that is longer than what fits inside","b":"","c":true})");
  EXPECT_TRUE(erase(document, "a"));
  EXPECT_FALSE(erase(document, "a"));
  Document other;
  Value copied = copy(document, other);
  set(document, "b", Value(0.5), document);
  EXPECT_EQ(stringify(copied), R"({"b":"","c":true})");
  EXPECT_EQ(stringify(document), R"({"b":0.5,"c":true})");
  EXPECT_EQ(stringify(copy(*member(document, "b"), other)), "0.5");
}

TEST(JsonDocument, DocumentsAreReusable) {
  Document document;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(parse("{\"a\":[" + std::to_string(i) + "]}", document));
    EXPECT_EQ(stringify(document), "{\"a\":[" + std::to_string(i) + "]}");
    EXPECT_FALSE(parse("[1,{\"a\":", document));
  }
}

}  // namespace
}  // namespace arborfs::json
