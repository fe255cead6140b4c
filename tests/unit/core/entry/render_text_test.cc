#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/entry/text.h"
#include "core/entry/text_sizes.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/utf8.h"
#include "tests/support/paths.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of(EntryType type, std::string_view raw) {
  std::string out;
  omp::render_text(type, raw, out);
  return out;
}

std::string user_text(std::string_view json_string) {
  return text_of(EntryType::message, R"({"message":{"role":"user","content":)" + std::string(json_string) + "}}");
}

/// True if the text is UTF-8 and contains nothing that a terminal would act on.
bool is_harmless(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      return false;
    }
  }
  return json::is_valid_utf8(text) && text.find("\xE2\x80\xAE") == std::string_view::npos &&
         text.find("\xC2\x9B") == std::string_view::npos && text.find("\xE2\x80\x8B") == std::string_view::npos;
}

void check_entry(EntryType type, const std::string& raw) {
  const std::string text = text_of(type, raw);
  std::string slow;
  omp::render_text_slowly(type, raw, slow);
  const TextMeasure measure = omp::measure_text(type, raw);
  std::vector<ImageRef> images;
  omp::find_images(1, type, raw, images);

  EXPECT_EQ(text, slow) << raw.substr(0, 2000);
  EXPECT_EQ(omp::text_size(type, raw), text.size()) << raw.substr(0, 2000);
  EXPECT_EQ(measure.size, text.size()) << raw.substr(0, 2000);
  EXPECT_TRUE(measure.images.empty() || measure.images.size() == images.size()) << raw.substr(0, 2000);
  EXPECT_TRUE(is_harmless(text)) << raw.substr(0, 2000);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_TRUE(text.size() < 2 || text[text.size() - 2] != '\n') << raw.substr(0, 2000);
  EXPECT_TRUE(is_harmless(omp::first_words(type, raw, 60)));
}

void for_each_entry(const std::string& log_bytes, const std::function<void(const LogIndex&, Ordinal, std::string)>& f) {
  const auto log = log_from_bytes(log_bytes);
  const auto index = omp::reader().index(*log, {});
  ASSERT_TRUE(index.has_value());
  for (Ordinal ordinal = 1; ordinal <= (*index)->size(); ++ordinal) {
    auto raw = log->read((*index)->entry(ordinal).offset, (*index)->length(ordinal));
    ASSERT_TRUE(raw.has_value());
    f(**index, ordinal, std::move(raw).value());
  }
}

TEST(RenderText, EveryTypeMatchesTheGoldenFile) {
  const fs::path golden = fs::path(arborfs::tests::kTestData) / "golden";
  std::string got;
  for_each_entry(file_bytes(golden / "render_text.jsonl"),
                 [&](const LogIndex& index, Ordinal ordinal, const std::string& raw) {
                   got += "=== " + std::to_string(ordinal) + " " + std::string(index.name(ordinal)) + "\n";
                   got += text_of(index.entry(ordinal).type, raw);
                 });
  if (std::getenv("ARBORFS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden / "render_text.txt", std::ios::binary) << got;
  }
  EXPECT_EQ(got, file_bytes(golden / "render_text.txt"));
}

TEST(RenderText, ParsersAndSizesAgreeOnTheCorpus) {
  std::size_t entries = 0;
  for (const auto& item : fs::recursive_directory_iterator(fs::path(arborfs::tests::kTestData) / "corpus")) {
    if (item.path().extension() == ".jsonl" && item.path().filename() != "ops.jsonl") {
      for_each_entry(file_bytes(item.path()), [&](const LogIndex& index, Ordinal ordinal, const std::string& raw) {
        check_entry(index.entry(ordinal).type, raw);
        ++entries;
      });
    }
  }
  EXPECT_GT(entries, 2000U);
}

/// Makes JSON that the two parsers might read differently.
class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}

  std::string entry() {
    const std::string message = R"({"role":)" + pick(kRoles) + R"(,"content":)" + content() + R"(,"command":)" +
                                string() + R"(,"output":)" + string() + R"(,"isError":)" +
                                pick({"true", "false", "1"}) + R"(,"images":)" + content() + R"(,"files":)" + value(2) +
                                "}";
    return R"({"type":"x","message":)" + pick({message, message, message, value(3)}) + R"(,"summary":)" + value(1) +
           R"(,"label":)" + value(1) + R"(,"data":)" + value(4) + R"(,"content":)" + content() + "}";
  }

 private:
  static inline const std::vector<std::string> kRoles = {R"("user")",          R"("assistant")",      R"("toolResult")",
                                                         R"("bashExecution")", R"("fileMention")",    R"("custom")",
                                                         R"("alien")",         R"("pythonExecution")"};
  static inline const std::vector<std::string> kPieces = {"plain words ",
                                                          "\\n",
                                                          "\\n\\n",
                                                          "`",
                                                          "```",
                                                          "\\u001b[2J",
                                                          "\\r\\n",
                                                          "\\t",
                                                          "é",
                                                          "日本",
                                                          "\xE2\x80\xAE",
                                                          "“q” – ",
                                                          "\\ud83d\\ude00",
                                                          "\\udc00",
                                                          "\\ud800",
                                                          "\xC2\x9B",
                                                          "\xEF\xBB\xBF",
                                                          "\x7F",
                                                          "\\\"",
                                                          "\\\\",
                                                          "\xE2\x80\x8D",
                                                          "a",
                                                          "\\/",
                                                          "\\u200b",
                                                          "\xF3\xA0\x80\xA1",
                                                          "\xED\x95\x9C",
                                                          "ệ",
                                                          "0123456789012345678901234567890123456789"};

  std::size_t below(std::size_t n) { return random_() % n; }
  std::string pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  std::string string() {
    std::string out = "\"";
    for (std::size_t i = below(12); i > 0; --i) {
      out += pick(kPieces);
    }
    if (below(40) == 0) {
      out += pick({"\xFF", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80"});
    }
    return out + "\"";
  }

  std::string value(int depth) {
    switch (depth <= 0 ? below(4) : below(7)) {
      case 0:
        return pick({"null", "true", "false"});
      case 1:
        return pick({"0", "-0", "1.5", "1e21", "12345678901234567890", "18446744073709551616", "1e-7", "-3"});
      case 2:
      case 3:
        return string();
      case 4:
        return pick({"[]", "{}", "[ ]", "{ }"});
      case 5:
        return list(depth, [&] { return value(depth - 1); });
      default:
        return object(depth);
    }
  }

  template <class Item>
  std::string list(int size, Item item) {
    std::string out = "[";
    for (std::size_t i = below(static_cast<std::size_t>(size) + 2); i > 0; --i) {
      out += item() + (i > 1 ? pick({",", " , ", ",\n"}) : "");
    }
    return out + "]";
  }

  std::string object(int depth) {
    std::string out = "{";
    for (std::size_t i = below(5); i > 0; --i) {
      const std::string key = pick({R"("a")", R"("b")", R"("1")", R"("0")", R"("\u0061")", R"("")", string()});
      out += key + ":" + value(depth - 1) + (i > 1 ? "," : "");
    }
    return out + "}";
  }

  std::string content() {
    return below(4) == 0 ? value(2) : list(4, [&] { return block(); });
  }

  std::string block() {
    const std::string type =
        pick({R"("text")", R"("thinking")", R"("toolCall")", R"("image")", R"("im\u0061ge")", R"("odd")"});
    return R"({"type":)" + type + R"(,"text":)" + string() + R"(,"thinking":)" + string() + R"(,"name":)" + string() +
           R"(,"arguments":)" + value(3) + R"(,"data":)" + pick({R"("AAAA")", R"("A\/AA")", "5", string()}) +
           R"(,"mimeType":)" + value(0) + "}";
  }

  std::mt19937 random_;
};

TEST(RenderText, ParsersAndSizesAgreeOnRandomEntries) {
  for (unsigned seed = 0; seed < 4000 / testing::kSanitizedShare; ++seed) {
    RandomJson random(seed);
    const auto type = static_cast<EntryType>(seed % (static_cast<unsigned>(EntryType::other) + 1));
    const std::string raw = random.entry();
    check_entry(seed % 3 == 0 ? type : EntryType::message, raw);
    if (HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
}

TEST(RenderText, FencesAreLongerThanAnyInside) {
  const std::string text =
      text_of(EntryType::message, R"({"message":{"role":"bashExecution","command":"x","output":"a ````` b"}})");
  EXPECT_NE(text.find("``````\na ````` b\n``````"), std::string::npos) << text;
}

TEST(RenderText, EmptyTextIsOneNewline) {
  EXPECT_EQ(user_text(R"("")"), "\n");
  EXPECT_EQ(user_text("[]"), "\n");
  EXPECT_EQ(user_text(R"("\n\n")"), "\n");
}

TEST(RenderText, NestingCostsNoStack) {
  constexpr std::size_t kDepth = 200'000;
  const std::string raw = R"({"type":"x","payload":)" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}";
  check_entry(EntryType::other, raw);
  check_entry(EntryType::custom, R"({"data":)" + raw + "}");
  const std::string call =
      R"({"message":{"role":"assistant","content":[{"type":"toolCall","arguments":)" + raw + "}]}}";
  check_entry(EntryType::message, call);
}

TEST(RenderText, TooLongEntriesAreNotParsed) {
  const std::string raw = R"({"message":{"role":"user","content":")" + std::string(kMaxRenderedEntry, 'a') + "\"}}";
  const std::string text = text_of(EntryType::message, raw);
  EXPECT_EQ(text, "This entry of " + std::to_string(raw.size()) +
                      " bytes is too long to be shown as text; its JSON is in entries/.\n");
  EXPECT_EQ(omp::text_size(EntryType::message, raw), text.size());
  const auto log = log_from_bytes("short");
  const auto read = read_text(omp::renderer(), *log, EntryType::message, 0, raw.size());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, text);
}

TEST(RenderText, GrowingTextsAreLimited) {
  constexpr std::size_t kDepth = 4'000'000;
  const std::string raw = std::string(kDepth, '[') + std::string(kDepth, ']');
  const std::string text = text_of(EntryType::none, raw);
  EXPECT_NE(text.find("too long"), std::string::npos);
  EXPECT_EQ(omp::text_size(EntryType::none, raw), text.size());
}

TEST(RenderText, ReadTextReportsAShrunkLog) {
  const auto log = log_from_bytes("{}");
  const auto read = read_text(omp::renderer(), *log, EntryType::message, 0, 10);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Errc::stale);
}

TEST(RenderText, FirstWordsAreOneShortLine) {
  const std::string call =
      R"({"message":{"role":"assistant","content":[{"type":"toolCall","name":"bash","arguments":{"command":"ls"}}]}})";
  EXPECT_EQ(omp::first_words(EntryType::message, call, 60), "bash command: ls");
  EXPECT_EQ(omp::first_words(EntryType::message, R"({"message":{"role":"user","content":"`a.csv` has a gap"}})", 60),
            "`a.csv` has a gap");
  EXPECT_EQ(omp::first_words(EntryType::message, R"({"message":{"role":"user","content":"one\ntwo three"}})", 9),
            "one two …");
}

}  // namespace
}  // namespace arborfs
