#include <algorithm>
#include <map>

#include "core/json/base64.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"
#include "tests/unit/json_reference_scan.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::json {
namespace {

using testing::AwkwardTexts;
using testing::ReferenceScan;
using Verdict = ValueScanner::Verdict;

struct Loaded {
  std::string values;
  int malformed = 0;
};

bool is_blank(std::string_view text) {
  static const std::vector<std::string_view> kBlanks = {
      " ",        "\t",           "\n",           "\v",           "\f",     "\r",
      "\xC2\xA0", "\xEF\xBB\xBF", "\xE2\x80\xA8", "\xE2\x80\xA9", "\u3000", "\u1680"};
  while (!text.empty()) {
    const auto blank = std::find_if(kBlanks.begin(), kBlanks.end(), [&](auto b) { return text.starts_with(b); });
    if (blank == kBlanks.end()) {
      return false;
    }
    text.remove_prefix(blank->size());
  }
  return true;
}

// The agents' loop for reading a log.
Loaded load(const std::string& text) {
  Loaded out{"["};
  const auto line_end = [&](std::size_t from) { return std::min(text.find('\n', from), text.size()); };
  const auto drop = [&](std::size_t from, std::size_t to) {
    out.malformed += !is_blank(std::string_view(text).substr(from, to - from));
  };
  for (std::size_t i = 0; (i = text.find_first_not_of(" \t\r\n", i)) != std::string::npos;) {
    const ValueEnd value = scan_value(text, i);
    if (value.verdict == Verdict::unfinished) {
      drop(i, text.size());
      break;
    }
    if (value.verdict == Verdict::error) {
      drop(i, line_end(i));
      i = line_end(i);
      continue;
    }
    Document document;
    EXPECT_TRUE(parse(std::string_view(text).substr(i, value.end - i), document));
    out.values += out.values.size() > 1 ? "," : "";
    stringify(document, out.values);
    const std::size_t rest = std::min(text.find_first_not_of(" \t\r", value.end), text.size());
    i = line_end(value.end);
    if (rest < i) {
      drop(value.end, i);
    }
  }
  out.values += "]";
  return out;
}

void check_vectors(const std::string& file) {
  testing::for_each_vector(file, [](const Value& vector) {
    const Loaded loaded = load(decode_utf8(decode_base64(*string_member(vector, "inputBase64"))));
    EXPECT_EQ(loaded.values, *string_member(vector, "values"));
    if (const Value* malformed = member(vector, "malformed"); malformed != nullptr) {
      EXPECT_EQ(loaded.malformed, malformed->GetDouble());
    }
  });
}

TEST(JsonScan, ParsesTheVectors) {
  check_vectors("parse.jsonl");
}
TEST(JsonScan, ParsesTheFuzzVectors) {
  check_vectors("parseFuzz.jsonl");
}

long as_reference(const ValueEnd& end) {
  switch (end.verdict) {
    case Verdict::value:
      return static_cast<long>(end.end);
    case Verdict::unfinished:
      return ReferenceScan::kUnfinished;
    default:
      return ReferenceScan::kError;
  }
}

ValueEnd scan_in_pieces(ValueScanner& scanner, std::string_view text, AwkwardTexts& random) {
  scanner.reset();
  Verdict verdict = Verdict::need_more;
  std::size_t fed = 0;
  while (verdict == Verdict::need_more && fed < text.size()) {
    const std::string piece(text.substr(fed, random.below(5)));
    std::size_t used = 0;
    verdict = scanner.feed(piece, used);
    EXPECT_LE(used, piece.size());
    if (verdict == Verdict::value) {
      EXPECT_EQ(used, scanner.length() - std::min<std::uint64_t>(scanner.length(), fed));
    }
    fed += piece.size();
  }
  if (verdict == Verdict::need_more) {
    verdict = scanner.finish();
  }
  return {verdict, static_cast<std::size_t>(scanner.length())};
}

TEST(JsonScan, AgreesWithTheReferenceForAnySplit) {
  AwkwardTexts random(7);
  ValueScanner scanner;
  std::map<Verdict, int> seen;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = random.next();
    text.erase(0, text.find_first_not_of(" \t\r\n"));
    if (text.empty()) {
      continue;
    }
    const long expected = ReferenceScan(text).scan(0);
    const ValueEnd end = scan_value(text, 0);
    ++seen[end.verdict];
    ASSERT_EQ(as_reference(end), expected) << ::testing::PrintToString(text);
    ASSERT_EQ(as_reference(scan_in_pieces(scanner, text, random)), expected) << ::testing::PrintToString(text);
  }
  for (const Verdict verdict : {Verdict::value, Verdict::error, Verdict::unfinished}) {
    EXPECT_GT(seen[verdict], 1000);
  }
}

TEST(JsonScan, AgreesWithTheReferenceOnCutCorpusLines) {
  AwkwardTexts random(8);
  ValueScanner scanner;
  for (const std::string& line : testing::corpus_lines()) {
    if (line.empty() || line.size() > 20'000 || std::string_view(" \t\r\n").find(line[0]) != std::string_view::npos) {
      continue;
    }
    const std::string text = line.substr(0, 1 + random.below(static_cast<unsigned>(line.size())));
    const long expected = ReferenceScan(text).scan(0);
    ASSERT_EQ(as_reference(scan_value(text, 0)), expected) << text;
    ASSERT_EQ(as_reference(scan_in_pieces(scanner, text, random)), expected) << text;
  }
}

TEST(JsonScan, StringsOfEveryAlignmentAreScanned) {
  for (const char special : {'"', '\x1f', '\0'}) {
    for (std::size_t length = 0; length < 70; ++length) {
      for (std::size_t tail : {0U, 1U, 40U}) {
        const std::string text = '"' + std::string(length, '\x80') + special + std::string(tail, '"');
        ASSERT_EQ(as_reference(scan_value(text, 0)), ReferenceScan(text).scan(0)) << length;
      }
    }
  }
}

TEST(JsonScan, NumberEndsBeforeAnInvalidExponent) {
  ValueScanner scanner;
  std::size_t used = 99;
  EXPECT_EQ(scanner.feed("12e+", used), Verdict::need_more);
  EXPECT_EQ(scanner.feed("\n", used), Verdict::value);
  EXPECT_EQ(used, 0U);
  EXPECT_EQ(scanner.length(), 2U);
}

TEST(JsonScan, MillionLevelsNeedNoStack) {
  testing::on_small_stack([] {
    constexpr std::size_t kDepth = 1'000'000;
    const std::string open(kDepth, '[');
    const std::string close(kDepth, ']');
    ValueScanner scanner;
    std::size_t used = 0;
    EXPECT_EQ(scanner.feed(open, used), Verdict::need_more);
    EXPECT_EQ(scanner.finish(), Verdict::unfinished);
    EXPECT_EQ(scanner.feed(close, used), Verdict::value);
    EXPECT_EQ(used, kDepth);
  });
}

class Recorder : public FieldObserver {
 public:
  void on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw, bool complete) override {
    events += std::string(parent_key) + "/" + std::string(key) + "=" + std::string(raw) + (complete ? ";" : "...;");
  }
  void on_container(std::string_view key, char opener, std::uint64_t offset) override {
    events += std::string(key) + opener + std::to_string(offset) + ";";
  }
  void on_container_end(std::uint64_t offset) override { events += "end" + std::to_string(offset) + ";"; }

  std::string events;
};

std::string events_of(const std::string& text, std::size_t piece_size) {
  Recorder recorder;
  ValueScanner scanner(&recorder);
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); i += piece_size) {
    const std::string piece = text.substr(i, piece_size);
    scanner.feed(piece, used);
  }
  return recorder.events;
}

TEST(JsonScan, ObserverSeesTheFirstTwoLevels) {
  const std::string text =
      R"({"type":"mess\"age", "n":-1.5e3 ,"ok":true,"m":{"role":"user","deep":{"x":1},"list":[1,{"y":2}],"k":null},)"
      R"("l":["a",{"b":3}],"e":{},"last":12})";
  const std::string expected =
      R"(/type="mess\"age";/n=-1.5e3;/ok=true;m{47;m/role="user";m/k=null;end105;l[110;end123;e{128;end130;/last=12;)";
  for (const std::size_t piece_size : {1U, 2U, 3U, 7U, 1000U}) {
    EXPECT_EQ(events_of(text, piece_size), expected) << piece_size;
  }
  EXPECT_EQ(events_of(R"([{"a":1},{"b":{"c":2}}])", 4), "");
  EXPECT_EQ(events_of(R"("x")", 1), "");
}

TEST(JsonScan, ObserverGetsLongScalarsCut) {
  const std::string at_limit = '"' + std::string(ValueScanner::kMaxObservedBytes - 2, 'x') + '"';
  const std::string beyond = '"' + std::string(ValueScanner::kMaxObservedBytes, 'x') + '"';
  for (const std::size_t piece_size : {1000U, 1'000'000U}) {
    EXPECT_EQ(events_of("{\"a\":" + at_limit + "}", piece_size), "/a=" + at_limit + ";");
    EXPECT_EQ(events_of("{\"a\":" + beyond + ",\"b\":1}", piece_size),
              "/a=" + beyond.substr(0, ValueScanner::kMaxObservedBytes) + "...;/b=1;");
  }
}

TEST(JsonScan, ResetClearsErrorsAndOpenContainers) {
  ValueScanner scanner;
  std::size_t used = 0;
  EXPECT_EQ(scanner.feed("{\"a\":[[{\"x\" 1 ", used), Verdict::error);
  scanner.reset();
  EXPECT_EQ(scanner.feed("[1] x", used), Verdict::value);
  EXPECT_EQ(used, 3U);
}

}  // namespace
}  // namespace arborfs::json
