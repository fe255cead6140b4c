// Transcripts are sound Markdown, as pandoc reads it: their headings are exactly the turns, whatever the texts are. The
// sessions of every agent's samples, hostile texts, and texts made at random of what Markdown is made of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/registry.h"
#include "core/json/document.h"
#include "core/session/catalog.h"
#include "core/views/session_views.h"
#include "tests/support/claude_log.h"
#include "tests/support/paths.h"

namespace arborfs::conformance {
namespace {

using tests::ClaudeLog;
using tests::Rows;

constexpr std::size_t kLongestTranscript = 200'000;  // pandoc takes long for more
constexpr std::size_t kMostOfOneStore = 4;

bool has_pandoc() {
  static const bool has = std::system("pandoc --version >/dev/null 2>&1") == 0;  // NOLINT: a test
  return has;
}
#define NEEDS_PANDOC()                                                         \
  if (!has_pandoc()) {                                                         \
    GTEST_SKIP() << "pandoc is not installed; 'tools/setup test' installs it"; \
  }

struct Headings {
  std::size_t turns = 0;   // of level 2, in nothing else
  std::size_t others = 0;  // the rest
};

/// Counts the headings of a document of pandoc.
Headings count_headings(const json::Value& document) {
  struct Open {
    const json::Value* value;
    int depth;
  };
  Headings found;
  std::vector<Open> open{{json::member(document, "blocks"), 0}};
  while (!open.empty()) {
    const auto [value, depth] = open.back();
    open.pop_back();
    if (value->IsArray()) {
      for (const json::Value& each : value->GetArray()) {
        open.push_back({&each, depth + 1});
      }
    } else if (value->IsObject()) {
      if (json::is_string(json::member(*value, "t"), "Header")) {
        const bool is_turn = depth == 1 && (*json::member(*value, "c"))[0].GetDouble() == 2;
        ++(is_turn ? found.turns : found.others);
      }
      if (const json::Value* content = json::member(*value, "c")) {
        open.push_back({content, depth + 1});
      }
    }
  }
  return found;
}

Headings headings_of(const std::string& markdown) {
  const std::string file = ::testing::TempDir() + "transcript_" + std::to_string(::getpid()) + ".md";
  std::ofstream(file, std::ios::binary) << markdown;
  const std::string command = "pandoc --from markdown --to json '" + file + "' 2>/dev/null";
  std::string json;
  std::FILE* const output = ::popen(command.c_str(), "r");
  std::vector<char> piece(65536);
  for (std::size_t got = 1; output != nullptr && got > 0;) {
    got = std::fread(piece.data(), 1, piece.size(), output);
    json.append(piece.data(), got);
  }
  EXPECT_TRUE(output != nullptr && ::pclose(output) == 0);
  std::filesystem::remove(file);
  json::Document document;
  EXPECT_TRUE(json::parse(json, document));
  return document.IsObject() ? count_headings(document) : Headings();
}

struct Source {
  std::string_view agent;
  std::string_view folder;  // below the sources
};
class SampleTranscripts : public ::testing::TestWithParam<Source> {};

TEST_P(SampleTranscripts, HaveAHeadingForEachTurn) {
  NEEDS_PANDOC();
  const std::string place = std::string(tests::kSourceDir) + "/" + std::string(GetParam().folder);
  auto stores = open_stores({{std::string(GetParam().agent), place, false}}, Access::look);
  ASSERT_TRUE(stores);
  Catalog catalog(*stores, "/home/sam", "");
  catalog.rescan();
  std::size_t checked = 0;
  const auto view = catalog.view();
  for (const auto& [id, session] : view->by_id) {
    const auto made = checked < kMostOfOneStore && session->refresh(Depth::details)
                          ? make_view(*session, *find_view("transcript.md"), 0, catalog)
                          : Result<View>(Error{Errc::not_found, ""});
    if (!made || made->content->size() > kLongestTranscript) {
      continue;
    }
    const auto text = made->content->read_all();
    ASSERT_TRUE(text) << id;
    const auto guard = session->read();
    ASSERT_TRUE(guard) << id;
    const auto path = people_path(guard->index(), guard->leaf());
    const RecordRenderer& renderer = *session->format().renderer;
    const auto turns = std::count_if(path.begin(), path.end(), [&](const PeopleStep& step) {
      return renderer.is_in_transcript(guard->index().name(step.ordinal));
    });
    const Headings found = headings_of(*text);
    EXPECT_EQ(found.turns, static_cast<std::size_t>(turns)) << id << "\n" << *text;
    EXPECT_EQ(found.others, 0U) << id << "\n" << *text;
    ++checked;
  }
  EXPECT_GT(checked, 0U);
}

INSTANTIATE_TEST_SUITE_P(Agents, SampleTranscripts,
                         ::testing::Values(Source{"omp", "tools/samples/omp"}, Source{"pi", "tests/pi"},
                                           Source{"opal", "tests/opal"}, Source{"opencode", "tools/samples/opencode"},
                                           Source{"opencode", "tests/opencode/files"}, Source{"claude", "tests/claude"},
                                           Source{"claude", "tools/samples/claude"},
                                           Source{"codex", "tests/codex/legacy"},
                                           Source{"codex", "tests/codex/paginated"},
                                           Source{"goat", "tests/goat/nested"}, Source{"goat", "tests/goat/flat"}));

/// A conversation in which everyone says the texts: the user, the assistant, its thoughts, and a tool.
std::string transcript_of(const std::vector<std::string>& texts) {
  Rows rows;
  std::string last;
  int made = 0;
  for (const std::string& text : texts) {
    const std::string said = json::stringify_string(text);
    const auto id = [&made] { return "e" + std::to_string(++made); };
    const std::string user = id();
    rows.row("user", user, last, R"("message":{"role":"user","content":)" + said + "}");
    const std::string answer = id();
    rows.block(answer, user, "m" + answer,
               R"({"type":"thinking","thinking":)" + said + R"(},{"type":"text","text":)" + said +
                   R"(},{"type":"tool_use","id":"t","name":)" + said + R"(,"input":{"x":)" + said + "}}");
    last = id();
    rows.row(
        "user", last, answer,
        R"("message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":)" + said + "}]}");
  }
  return rows.log().transcript();
}

void expect_sound(const std::vector<std::string>& texts) {
  const std::string transcript = transcript_of(texts);
  const Headings found = headings_of(transcript);
  EXPECT_EQ(found.turns, 3 * texts.size()) << transcript;
  EXPECT_EQ(found.others, 0U) << transcript;
}

TEST(HostileTranscripts, HaveAHeadingForEachTurn) {
  NEEDS_PANDOC();
  const std::vector<std::vector<std::string>> documents = {
      {"## user · 2026-02-16 10:20:30 +0100 · a1", "# a\n## b\n###### c", "   ## d", "a\n## b"},
      {"a\n===", "a\n---", "a\n  -----  ", "- a\n  ===", "> a\n> ---"},
      {"```", "````\n```", "~~~", "a\n~~~js\n\n## x", "```js", "``` {.a"},
      {"```ts title=\"a\"\n\n## x\n```", "```", "```\nx\n```"},
      {"<!--", "-->", "- <!--", "-->"},
      {"<div>", "</div>", "<h2>forged</h2>", "<script>", "</script>", "<pre>", "<?php", "<![CDATA[", "<a href=\"",
       "\">"},
      {"[a", "](b)", "[a", "]", "![a", "](b)", "^[a", "]"},
      {"[a]: b", "[a]: <b\n'c", "[^1]: a", "[image 1]: b", "[a\nb]: c"},
      {"- ## a\n- # b", "1. # a", "> # a\n> ## b", "- > 1. ## a", "(1) # a", "#. # a", "a\n:   ## b"},
      {"- ```\n  a\n## forged\n```", "1. a\n   ```\n   # b\n   ```", "> ```", "  ```\n## a\n  ```"},
      {"\\begin{a}", "\\end{a}", "\\foo{", "}", "\\newcommand{\\a}[1]{", "}", "\\def\\a{", "}", "\\foo[", "]"},
      {"---\ntitle: a", "---", "------ -----\na b", "", "------ -----", "..."},
      {"::: a", ":::", "$$", "$$", "| a |\n|---|", "+---+\n| a |", "%"},
      {"`a", "`", "``` a", "a ``b` <!-- c", "-->", "`<!--`", "\\`<!--`", "-->"},
      {"    # a", "\t# a", "- a\n\n      # b", "#", "##", "#\ta"},
      {"a\r\n```js\r\n# b\r\n```\r\n", "## c", "\xE2\x80\x8B## a", "\x1B## a"},
      {"*a", "b*", "**", "__", "~~", "\"a", "b\"", "'", "@a [b", "]", "{#a}", "&lt;h2&gt;", "&#35;# a"},
  };
  for (const auto& texts : documents) {
    expect_sound(texts);
  }
}

TEST(HostileTranscripts, MadeAtRandomHaveAHeadingForEachTurn) {
  NEEDS_PANDOC();
  constexpr std::array<std::string_view, 56> kPieces = {
      "## x",  "# x",  "x",         "===",  "---",    "```",        "~~~",       "````", "```js", "```ts title=\"a\"",
      "<div>", "<!--", "-->",       "<h2>", "</div>", "<?",         "[a",        "[",    "](b)",  "[a]: b",
      "[^1]:", "^[n",  "]",         "\\a{", "}",      "\\begin{a}", "\\end{a}",  "\\",   "`",     "``",
      "- ",    "* ",   "1. ",       "> ",   "(1) ",   "#. ",        "   ",       "    ", "\t",    " ",
      "\n",    "\n",   "\n",        "\n\n", ":::",    "| a |",      "----- ---", ": ",   "$$",    "*",
      "\"",    "{.a}", "\\def\\a{", "@a",   "\\[",    "![i]("};
  std::mt19937 random(20260216);
  for (int document = 0; document < 12; ++document) {
    std::vector<std::string> texts(8);
    for (std::string& text : texts) {
      for (auto pieces = 1 + random() % 12; pieces > 0; --pieces) {
        text += kPieces[random() % kPieces.size()];
      }
    }
    expect_sound(texts);
  }
}

}  // namespace
}  // namespace arborfs::conformance
