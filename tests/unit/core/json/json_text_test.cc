#include <numeric>

#include "core/base/hash.h"
#include "core/json/base64.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::json {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// The text of a whole file, as its reader decodes it.
std::string decode_file(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE")) {
    return decode_utf16le(bytes.substr(2));
  }
  return decode_utf8(bytes.starts_with("\xEF\xBB\xBF") ? bytes.substr(3) : bytes);
}

TEST(JsonUtf8, DecodesTheVectors) {
  testing::for_each_vector("utf8.jsonl", [](const Value& vector) {
    EXPECT_EQ(decode_file(from_hex(as_string(vector[0]))), as_string(vector[1]));
  });
}

TEST(JsonUtf8, ReplacesBadBytesBetweenGoodText) {
  EXPECT_EQ(decode_utf8("good \xE2\x82 text \xFF"), "good \uFFFD text \uFFFD");
  EXPECT_FALSE(is_valid_utf8("\xED\xA0\x80"));
  EXPECT_TRUE(is_valid_utf8(""));
}

TEST(JsonUtf8, ReplacesLoneSurrogatesOfUtf16) {
  using namespace std::string_view_literals;
  EXPECT_EQ(decode_utf16le("a\0\x3D\xD8z\0\x00\xDE\xE9\0"sv), "a\uFFFDz\uFFFDé");
  EXPECT_EQ(decode_utf16le("a\0\x3D\xD8"sv), "a\uFFFD");
}

TEST(JsonUtf8, CountsUtf16UnitsAndReplacesLoneSurrogates) {
  const std::string text = "a\xED\xA0\x80 \xED\x9F\xBF\xED\xBF\xBF";
  EXPECT_EQ(replace_lone_surrogates(text), "a\uFFFD \xED\x9F\xBF\uFFFD");
  EXPECT_EQ(utf16_length(text), 5U);
  EXPECT_EQ(utf16_length("aé€😀"), 5U);
}

TEST(JsonBase64, RoundTrips) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    const std::string text = encode_base64(bytes);
    EXPECT_EQ(decode_base64(text), bytes);
    EXPECT_EQ(decoded_base64_size(text), bytes.size());
    bytes.push_back(static_cast<char>(i * 37));
  }
}

TEST(JsonBase64, IsAsLenientAsNode) {
  const auto both = [](std::string_view text) {
    const std::string bytes = decode_base64(text);
    EXPECT_EQ(decoded_base64_size(text), bytes.size()) << text;
    return bytes;
  };
  EXPECT_EQ(both("QQ"), "A");
  EXPECT_EQ(both("QUI"), "AB");
  EXPECT_EQ(both("Q"), "");
  EXPECT_EQ(both("QUJDQ"), "ABC");
  EXPECT_EQ(both(" Q\nU*J D!QQ==QUJD"), "ABCA");
  EXPECT_EQ(both("-_-_"), both("+/+/"));
  EXPECT_EQ(both("!?"), "");
  EXPECT_EQ(both("=QUJD"), "");
}

// The value of an input with its macros for long texts expanded.
std::string expand(const Value& value) {
  std::string out;
  if (value.IsString()) {
    return std::string(as_string(value));
  }
  if (const Value* repeat = member(value, "$rep"); repeat != nullptr) {
    for (int i = 0; i < (*repeat)[1].GetDouble(); ++i) {
      out += expand((*repeat)[0]);
    }
  } else if (const Value* parts = member(value, "$cat"); parts != nullptr) {
    for (const Value& part : parts->GetArray()) {
      out += expand(part);
    }
  } else if (const Value* random = member(value, "$b64"); random != nullptr) {
    std::string bytes = "\x89PNG\r\n\x1A\n";
    auto x = static_cast<std::uint32_t>((*random)[1].GetDouble());
    const auto size = static_cast<std::size_t>((*random)[0].GetDouble());
    while (bytes.size() < size) {
      x = x * 1664525U + 1013904223U;
      bytes.push_back(static_cast<char>(static_cast<unsigned char>(x >> 24)));
    }
    out = encode_base64(bytes);
  }
  return out;
}

TEST(JsonBase64, DecodesTheBlobsOfThePersistVectors) {
  int seen = 0;
  testing::for_each_vector("persist.jsonl", [&seen](const Value& vector) {
    const Value* outcome = member(vector, "both");
    const Value* content = member(vector["input"], "content");
    const Value* blobs = outcome == nullptr ? nullptr : member(*outcome, "blobs");
    if (blobs == nullptr || content == nullptr || !content->IsArray() || !(*content)[0].IsObject() ||
        blobs->Size() != 1 || member((*content)[0], "data") == nullptr) {
      return;
    }
    ++seen;
    const std::string data = expand(*member((*content)[0], "data"));
    const std::string bytes = decode_base64(data);
    EXPECT_EQ(bytes.size(), (*blobs)[0]["size"].GetDouble());
    EXPECT_EQ(decoded_base64_size(data), bytes.size());
    EXPECT_EQ(sha256_hex(bytes), *string_member((*blobs)[0], "sha256"));
  });
  EXPECT_GE(seen, 5);
}

TEST(Escapes, InvalidEscapesAreFoundAtEveryPosition) {
  const auto is_valid = [](const std::string& text) {
    const std::string bytes = text + std::string(kEscapePadding, '\\');
    return has_valid_escapes(std::string_view(bytes).substr(0, text.size()));
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

TEST(JsonCursor, SetsAMemberAndKeepsTheOtherBytes) {
  EXPECT_EQ(skim::set_member("{}", "a", "1"), R"({"a":1})");
  EXPECT_EQ(skim::set_member(R"({"b" : [ 1 ]} )", "a", "1"), R"({"b" : [ 1 ],"a":1} )");
  EXPECT_EQ(skim::set_member(R"({"a":"}" , "b":{"a":2}, "\u0061": 3})", "a", "[]"),
            R"({"a":"}" , "b":{"a":2}, "\u0061": []})");
  EXPECT_EQ(skim::set_member("{\n  \"b\": 1\n}\n", "a", "2", skim::Layout::lines), "{\n  \"b\": 1,\n  \"a\": 2\n}\n");
}

TEST(JsonText, IsBuiltInTheOrderOfTheCalls) {
  Text list = Text::array();
  list.item("a\"").item_json("1");
  EXPECT_EQ(Text::object().add("z", "\n").add("a", true).add_json("l", list.str()).str(),
            R"({"z":"\n","a":true,"l":["a\"",1]})");
  EXPECT_EQ(Text::object().str(), "{}");
  EXPECT_EQ(Text::lines().item_json("1").item_json("2").str(), "[\n1,\n2\n]");
}

TEST(JsonSkim, ContainsWhatASearchFinds) {
  std::string text;
  for (int at = 0; at < 300; ++at) {
    text += "abcu\\g"[at * at % 7];
  }
  for (std::size_t from = 0; from < 40; ++from) {
    for (std::size_t length = 0; length < 60; ++length) {
      const std::string_view within = std::string_view(text).substr(from, length);
      for (const std::string_view needle : {"", "a", "\\u", "ab", "bca", "usage", "gg", "abcabcabcabcabcabcabc"}) {
        ASSERT_EQ(skim::contains(within, needle), within.find(needle) != std::string_view::npos) << within << needle;
      }
    }
  }
  EXPECT_TRUE(skim::contains(std::string(100, 'x') + "usage", "usage"));
}

}  // namespace
}  // namespace arborfs::json
