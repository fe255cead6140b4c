#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"
#include "core/json/utf8.h"

namespace arborfs::names {
namespace {

std::unique_ptr<LogIndex> index_of(const std::string& lines) {
  const auto log =
      log_from_bytes(R"({"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w"})"
                     "\n" +
                     lines);
  auto index = omp::reader().index(*log, {});
  return index ? std::move(index).value() : nullptr;
}

std::string literal(std::string_view text) {
  std::string out;
  json::stringify_string(text, out);
  return out;
}

/// Random bytes with many special ones.
std::string random_text(std::mt19937& random, std::size_t longest) {
  static const std::vector<std::string> kPieces = {"/",
                                                   ".",
                                                   "..",
                                                   "-",
                                                   "%",
                                                   "%2F",
                                                   "~",
                                                   " ",
                                                   "\n",
                                                   "\x1B[2J",
                                                   "a",
                                                   "B7",
                                                   "é",
                                                   "日本",
                                                   "\u202e",
                                                   "\u200b",
                                                   "\u200d",
                                                   "\xFF",
                                                   "\xED\xA0\x80",
                                                   std::string(1, '\0'),
                                                   "context.json",
                                                   "\\",
                                                   "\"",
                                                   "'",
                                                   "$(rm)",
                                                   "*"};
  std::string out;
  const std::size_t size = random() % (longest + 1);
  while (out.size() < size) {
    out += kPieces[random() % kPieces.size()];
  }
  return out;
}

bool is_encoded(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool portable = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    if (!portable && c != '%' && c != '~') {
      return false;
    }
  }
  return true;
}

TEST(Encode, EscapesUnsafeNames) {
  EXPECT_EQ(encode("a1b2c3d4"), "a1b2c3d4");
  EXPECT_EQ(encode("context.json"), "context.json");
  EXPECT_EQ(encode("../../../etc/passwd"), "..%2F..%2F..%2Fetc%2Fpasswd");
  EXPECT_EQ(encode("a/b"), "a%2Fb");
  EXPECT_EQ(encode("."), "%2E");
  EXPECT_EQ(encode(".."), "%2E%2E");
  EXPECT_EQ(encode("-rf"), "%2Drf");
  EXPECT_EQ(encode("100%"), "100%25");
  EXPECT_EQ(encode("é"), "%C3%A9");
  EXPECT_EQ(encode(""), "%empty");
  EXPECT_NE(encode("%empty"), encode(""));
}

TEST(Encode, LongNamesAreCutAndEndInAHash) {
  std::string many;
  for (int i = 0; i < 300; ++i) {
    many += "é";
  }
  const std::string name = encode(many);
  EXPECT_LE(name.size(), 255U);
  EXPECT_EQ((name.size() - 17) % 3, 0U);
  EXPECT_EQ(name[name.size() - 17], '~');
  EXPECT_NE(encode(many + "x"), name);
  EXPECT_EQ(encode(std::string(255, 'a')), std::string(255, 'a'));
  EXPECT_EQ(encode(std::string(256, 'a')).size(), 255U);
}

TEST(Encode, IsAlwaysAFileName) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random_text(random, 400);
    const std::size_t limit = 20 + random() % 236;
    const std::string name = encode(text, limit);
    ASSERT_TRUE(!name.empty() && name != "." && name != ".." && name[0] != '-') << name;
    ASSERT_TRUE(is_encoded(name)) << name;
    ASSERT_LE(name.size(), limit) << name;
    ASSERT_EQ(name, encode(text, limit));
  }
}

TEST(EncodeLabel, KeepsReadableCharacters) {
  EXPECT_EQ(encode_label("checkpoint 1"), "checkpoint 1");
  EXPECT_EQ(encode_label("été 日本 ✓ (x)"), "été 日本 ✓ (x)");
  EXPECT_EQ(encode_label("a/b%"), "a%2Fb%25");
  EXPECT_EQ(encode_label(".hidden"), "%2Ehidden");
  EXPECT_EQ(encode_label("."), "%2E");
  EXPECT_EQ(encode_label(".."), "%2E.");
  EXPECT_EQ(encode_label("-x "), "%2Dx ");
  EXPECT_EQ(encode_label(" x\u3000"), " x\u3000") << "spaces at the ends are no danger to a file name";
  EXPECT_EQ(decode_label("x "), "x ");
  EXPECT_EQ(encode_label("\u202e\u200b\x1B"), "%E2%80%AE%E2%80%8B%1B");
  EXPECT_EQ(encode_label("\xFF\xED\xA0\x80"), "%FF%ED%A0%80");
  EXPECT_EQ(encode_label(""), "%empty");
}

TEST(EncodeLabel, IsAlwaysAFileName) {
  std::mt19937 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random_text(random, 400);
    const std::string name = encode_label(text);
    ASSERT_TRUE(!name.empty() && name[0] != '.' && name[0] != '-') << name;
    ASSERT_TRUE(json::is_valid_utf8(name)) << name;
    ASSERT_LE(name.size(), 255U);
    ASSERT_EQ(name.find('/'), std::string::npos);
    ASSERT_TRUE(std::none_of(name.begin(), name.end(), [](char c) { return c >= 0 && (c < 0x20 || c == 0x7F); }));
    for (const char* hidden : {"\u202e", "\u200b", "\u200d"}) {
      ASSERT_EQ(name.find(hidden), std::string::npos);
    }
  }
}

TEST(EncodeLabel, DifferentLabelsGetDifferentNames) {
  EXPECT_NE(encode_label(std::string(400, 'x') + "1"), encode_label(std::string(400, 'x') + "2"));
  EXPECT_NE(encode_label("%2F"), encode_label("/"));
}

TEST(EntryStem, IsOrdinalRoleAndId) {
  const auto index =
      index_of(R"({"type":"message","id":"a1b2c3d4","parentId":null,"message":{"role":"user","content":""}}
{"type":"custom","id":"x/y","parentId":null}
42
{"type":"message","id":"..","parentId":null,"message":{"role":"-r/f","content":""}}
{"type":"label","id":7,"parentId":null}
)");
  ASSERT_NE(index, nullptr);
  EXPECT_EQ(entry_stem(*index, 1), "000001-user-a1b2c3d4");
  EXPECT_EQ(entry_stem(*index, 2), "000002-custom-x%2Fy");
  EXPECT_EQ(entry_stem(*index, 3), "000003-value");
  EXPECT_EQ(entry_stem(*index, 4), "000004-%2Dr%2Ff-%2E%2E");
  EXPECT_EQ(entry_stem(*index, 5), "000005-label-7");
  EXPECT_EQ(branch_stem(*index, 1), "000001-a1b2c3d4");
  EXPECT_EQ(branch_stem(*index, 3), "000003");
}

TEST(EntryStem, FitsForAnyId) {
  std::mt19937 random(3);
  std::string lines;
  for (int i = 0; i < 500; ++i) {
    lines += R"({"type":"message","id":)" + literal(json::decode_utf8(random_text(random, 500))) +
             R"(,"message":{"role":)" + literal(json::decode_utf8(random_text(random, 500))) + "}}\n";
  }
  const auto index = index_of(lines);
  ASSERT_NE(index, nullptr);
  ASSERT_EQ(index->size(), 500U);
  for (Ordinal ordinal = 1; ordinal <= index->size(); ++ordinal) {
    const std::string stem = entry_stem(*index, ordinal);
    EXPECT_LE(stem.size(), 250U);
    EXPECT_LE(entry_stem(*index, ordinal, 40).size(), 215U);
    EXPECT_TRUE(is_encoded(stem)) << stem;
    EXPECT_EQ(leading_ordinal(stem), ordinal) << stem;
    EXPECT_LE(branch_stem(*index, ordinal).size(), 255U);
    EXPECT_EQ(leading_ordinal(branch_stem(*index, ordinal)), ordinal);
  }
}

TEST(LeadingOrdinal, IsReadFromListedAndShortNamesOnly) {
  EXPECT_EQ(leading_ordinal("000042-user-a1b2"), 42U);
  EXPECT_EQ(leading_ordinal("1234567-user-a1b2"), 1234567U);
  EXPECT_EQ(leading_ordinal("42"), 42U);
  EXPECT_EQ(leading_ordinal("000042"), 42U);
  for (const char* name : {"", "x", "42x", "42-user-a1b2", "0042", "0", "000000", "0000042", "-1", "+1", " 1", "1 ",
                           "4294967296", "99999999999999999999", "000042.json"}) {
    EXPECT_EQ(leading_ordinal(name), std::nullopt) << name;
  }
}

TEST(ProjectName, IsReadable) {
  const std::string home = "/home/dev";
  EXPECT_EQ(project_name("/home/dev/src/x", home), "src-x");
  EXPECT_EQ(project_name("/home/dev/src/x/", home + "/"), "src-x");
  EXPECT_EQ(project_name("/srv/pi", home), "srv-pi");
  EXPECT_EQ(project_name("/home/dev", home), "home");
  EXPECT_EQ(project_name("/home/developer", home), "home-developer");
  EXPECT_EQ(project_name("/", home), "root");
  EXPECT_EQ(project_name("", home), "unknown");
  EXPECT_EQ(project_name("/srv/pi", ""), "srv-pi");
  EXPECT_EQ(project_name("/srv/pi", "/"), "srv-pi");
  EXPECT_EQ(project_name("/home/dev/.config/My App (1)", home), "%2Econfig-My%20App%20%281%29");
  EXPECT_EQ(project_name("/srv/été/日本", home), "srv-été-日本");
  EXPECT_EQ(project_name("/srv/a\xE2\x80\xAE"
                         "b\xC2\xA0"
                         "c\xFF\xC2\x85",
                         home),
            "srv-a%E2%80%AEb%C2%A0c%FF%C2%85");
  EXPECT_EQ(project_name("/\xE2\x80\x8D"
                         "x",
                         home),
            "%E2%80%8Dx");
  EXPECT_EQ(project_name("/srv//a-b/c", home), "srv-a-b-c");
  EXPECT_EQ(project_name("/srv/$(rm)/\x1B[2J", home), "srv-%24%28rm%29-%1B%5B2J");
  EXPECT_EQ(project_name("/...", home), "%2E..");
  EXPECT_EQ(project_name("/-x", home), "%2Dx");
}

TEST(ProjectName, IsFoundByWordsWithBlanks) {
  const std::string name = project_name("/home/ann/work/caf\xC3\xA9 au lait", "/home/ann");
  EXPECT_TRUE(is_in_project_name("caf\xC3\xA9 au", name)) << name;
  EXPECT_TRUE(is_in_project_name("au%20lait", name));
  EXPECT_FALSE(is_in_project_name("au-lait", name));
}

TEST(ProjectName, IsAlwaysSafe) {
  std::mt19937 random(4);
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = project_name("/" + random_text(random, 500), "/home/dev");
    ASSERT_TRUE(!name.empty() && name[0] != '.' && name[0] != '-') << name;
    ASSERT_LE(name.size(), 202U);
    for (std::size_t at = 0; at < name.size();) {
      const chars::Char c = chars::decode(name, at);
      const bool is_word = c.code < 0x80 && (std::isalnum(static_cast<int>(c.code)) != 0 ||
                                             std::string_view("._-%~").find(name[at]) != std::string_view::npos);
      const bool is_plain = c.valid && c.code >= 0x80 && !chars::is_control(c.code) && !chars::is_invisible(c.code) &&
                            !chars::is_wide_space(c.code);
      ASSERT_TRUE(is_word || is_plain) << name;
      at += c.length;
    }
  }
}

TEST(Slug, IsMadeFromTheTitle) {
  EXPECT_EQ(slug("Fix the Bug in main.cc!"), "fix-the-bug-in-main-cc");
  EXPECT_EQ(slug("Été à la Plage – Привет ΑΘΗΝΑ 日本"), "été-à-la-plage-привет-αθηνα-日本");
  EXPECT_EQ(slug(""), "untitled");
  EXPECT_EQ(slug("../..\x1B\u202e 👍"), "untitled");
  EXPECT_EQ(slug(std::string(100, 'a')), std::string(60, 'a'));
}

TEST(ImageExtension, FollowsTheMimeType) {
  EXPECT_EQ(image_extension("image/png"), "png");
  EXPECT_EQ(image_extension("IMAGE/JPEG; q=1"), "jpg");
  EXPECT_EQ(image_extension("image/svg+xml"), "svg");
  EXPECT_EQ(image_extension("image/../../x"), "bin");
  EXPECT_EQ(image_extension(""), "bin");
}

}  // namespace
TEST(RenderNames, AgentFileNamesStayReadableAndRoundTrip) {
  for (const auto& [text, shown] :
       std::initializer_list<std::pair<std::string, std::string>>{{"plain 1.log", "plain 1.log"},
                                                                  {".hidden", ".hidden"},
                                                                  {"-rf", "%2Drf"},
                                                                  {"100%", "100%25"},
                                                                  {"a\x1B[2J\n", "a%1B[2J%0A"},
                                                                  {"\xFF", "%FF"},
                                                                  {"a\u202eb ", "a%E2%80%AEb%20"}}) {
    EXPECT_EQ(encode_file(text), shown);
    EXPECT_EQ(decode_file(shown), text);
  }
  EXPECT_EQ(decode_file("100%"), std::nullopt);
  EXPECT_EQ(decode_file("%41"), std::nullopt);
  EXPECT_NE(encode_file(std::string(200, '\1') + "1"), encode_file(std::string(200, '\1') + "2"));
}

TEST(RenderNames, ScriptPathsLoseOnlyControls) {
  EXPECT_EQ(without_controls("/srv/été 100% (x)"), "/srv/été 100% (x)");
  EXPECT_EQ(without_controls("/srv/\x1B[2J\n\xC2\x9B\xFF"), "/srv/%1B[2J%0A%C2%9B%FF");
}

}  // namespace arborfs::names
