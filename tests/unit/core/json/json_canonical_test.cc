#include "core/json/scan.h"
#include "tests/support/sanitized.h"
#include "tests/unit/json_reference_scan.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::json {
namespace {

std::string reprint(std::string_view text) {
  Document document;
  EXPECT_TRUE(parse(text, document)) << text;
  return stringify(document);
}

TEST(JsonCanonical, AcceptsWhatStringifyWrites) {
  for (const char* text : {"{}", "[]", "0", "-1", "1.5", "1e+21", "1e-7", "123456789012345", "null", "true", "\"\"",
                           R"({"1":0,"2":0,"a":{"b":[]},"c":"\"\\\b\t\n\f\r"})", R"("\u0000\u001f\ud800 \udc00")",
                           R"("\udc00\ud800")", "\"\x7F\u2028😀/\"", R"([{"a":1},{"a":1}])", "9007199254740992"}) {
    EXPECT_TRUE(is_canonical(text)) << text;
    EXPECT_EQ(reprint(text), text);
  }
}

TEST(JsonCanonical, RefusesAllOtherSpellings) {
  for (const char* text : {"{ }",
                           "[1, 2]",
                           "-0",
                           "1.0",
                           "1e5",
                           "1E+21",
                           "0.0000001",
                           "12345678901234567890",
                           R"("\/")",
                           R"("\u0041")",
                           R"("\u000a")",
                           R"("\u001F")",
                           R"("\uD800")",
                           R"("\ud83d\ude00")",
                           R"({"a":1,"a":1})",
                           R"({"a":1,"1":1})",
                           R"({"2":1,"1":1})",
                           "\"\xFF\"",
                           "\"\xED\xA0\x80\"",
                           R"({"x":{"a":1,"b":2,"a":3}})",
                           "1e400",
                           "[1]\n"}) {
    EXPECT_FALSE(is_canonical(text)) << text;
  }
}

TEST(JsonCanonical, CanonicalizeEqualsParseAndStringify) {
  std::string out = ">";
  canonicalize(R"({ "b":1.0,"1":"\u0041"})", out);
  canonicalize("[1]", out);
  EXPECT_EQ(out, R"(>{"1":"A","b":1}[1])");
}

// For any text: canonical means that printing it again changes nothing.
void check_property(std::string_view text, int& canonical) {
  if (is_canonical(text)) {
    ++canonical;
    ASSERT_EQ(reprint(text), text);
  }
}

TEST(JsonCanonical, HoldsOnTheCorpus) {
  int values = 0;
  int canonical = 0;
  int canonical_again = 0;
  for (const std::string& line : testing::corpus_lines()) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) {
      continue;
    }
    const ValueEnd end = scan_value(line, begin);
    if (end.verdict != ValueScanner::Verdict::value) {
      continue;
    }
    const auto text = std::string_view(line).substr(begin, end.end - begin);
    ++values;
    check_property(text, canonical);
    check_property(reprint(text), canonical_again);
  }
  EXPECT_GT(values, 1000);
  EXPECT_GT(canonical * 100, values * 95);
  EXPECT_EQ(canonical_again, values);
}

TEST(JsonCanonical, HoldsOnAwkwardTexts) {
  testing::AwkwardTexts random(3);
  int values = 0;
  int canonical = 0;
  for (int round = 0; round < 200'000; ++round) {
    const std::string text = random.next();
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) {
      continue;
    }
    const ValueEnd end = scan_value(text, begin);
    if (end.verdict == ValueScanner::Verdict::value) {
      ++values;
      check_property(std::string_view(text).substr(begin, end.end - begin), canonical);
    } else {
      is_canonical(text);  // other texts are only checked for reads beyond the end
    }
  }
  EXPECT_GT(values, 10'000);
  EXPECT_GT(canonical, 5'000);
}

// Random values, built from pieces that are spelled in several ways.
class RandomValue {
 public:
  explicit RandomValue(unsigned seed) : random_(seed) {}

  std::string next(int depth = 0) {
    const unsigned kind = random_.below(depth > 3 ? 2 : 4);
    if (kind == 0) {
      return pick({"0", "-0", "1", "-17", "1.5", "1.0", "1e3", "1e+21", "1e21", "123456789012345678", "true", "null",
                   "1e999", "0.1", "1e-7", "100000000000000000000"});
    }
    if (kind == 1) {
      return string();
    }
    std::string out = kind == 2 ? "[" : "{";
    for (unsigned i = 0, n = random_.below(5); i < n; ++i) {
      out += i > 0 ? "," : "";
      out += kind == 2 ? "" : string() + ":";
      out += next(depth + 1);
    }
    return out + (kind == 2 ? "]" : "}");
  }

 private:
  std::string pick(const std::vector<std::string>& from) {
    return from[random_.below(static_cast<unsigned>(from.size()))];
  }

  std::string string() {
    std::string out = "\"";
    for (unsigned i = 0, n = random_.below(3); i < n; ++i) {
      out += pick({"a", "b", "7", "12", "\\n", "\\u000a", "\\u0001", "\\ud83d", "\\ude00", "\\uD83D", "\xC3\xA9",
                   "\xFF", "\\/", "\\\\", "\\\"", "\\u0031", "long text without anything to see", "\xED\xA0\x80"});
    }
    return out + "\"";
  }

  testing::AwkwardTexts random_;
};

TEST(JsonCanonical, HoldsOnRandomValues) {
  RandomValue random(5);
  int canonical = 0;
  for (int round = 0; round < 100'000 / arborfs::testing::kSanitizedShare; ++round) {
    const std::string text = random.next();
    check_property(text, canonical);
    const std::string printed = reprint(text);
    ASSERT_EQ(reprint(printed), printed) << text;
    ASSERT_TRUE(is_canonical(printed)) << printed;
  }
  EXPECT_GT(canonical, 10'000 / arborfs::testing::kSanitizedShare);
}

}  // namespace
}  // namespace arborfs::json
