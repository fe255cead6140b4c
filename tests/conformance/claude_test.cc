// Claude Code's transcripts read by its rules: tests/claude/expected.json holds the results of an independent reader
// for tests/claude/projects.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/json/document.h"
#include "core/entry/text_sizes.h"
#include "tests/support/claude_log.h"
#include "tests/support/paths.h"

namespace arborfs::conformance {
namespace {

using tests::ClaudeLog;
using tests::Texts;

const std::filesystem::path kClaude = std::filesystem::path(tests::kTestData) / "claude";

std::string claude_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Texts claude_texts(const json::Value& session, std::string_view key) {
  Texts found;
  for (const json::Value& value : json::member(session, key)->GetArray()) {
    found.emplace_back(json::as_string(value));
  }
  return found;
}

Texts in_order(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

void expect_claude_tree(const ClaudeLog& log, const json::Value& wanted) {
  const LogIndex& index = log.index();
  EXPECT_EQ(index.size(), json::member(wanted, "entries")->GetDouble());
  EXPECT_EQ(in_order(log.ids([&](Ordinal o) { return index.parent(o) == kNoEntry; })), claude_texts(wanted, "roots"));
  EXPECT_EQ(log.ids([&](Ordinal o) { return index.is_orphan(o); }), claude_texts(wanted, "dangling"));
  EXPECT_EQ(in_order(log.ids([&](Ordinal o) { return index.is_tip(o); })), claude_texts(wanted, "leaves"));
  EXPECT_EQ(log.id(index.leaf()), json::string_member(wanted, "activeLeaf").value_or(""));
  EXPECT_EQ(log.path(), claude_texts(wanted, "activePath"));
}

/// The texts of a message's blocks.
std::string said_in(const json::Value& record) {
  const json::Value* content = json::member(*json::member(record, "message"), "content");
  if (content->IsString()) {
    return std::string(json::as_string(*content));
  }
  std::string said;
  for (const json::Value& block : content->GetArray()) {
    said += json::is_string(json::member(block, "type"), "text") ? *json::string_member(block, "text") : "";
  }
  return said;
}

std::string first_characters(const std::string& text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size() && count != 0; --count) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      ++end;
    }
  }
  return text.substr(0, end);
}

/// The messages of the path by role, without those that the program adds.
void expect_conversation(const ClaudeLog& log, const json::Value& wanted) {
  constexpr std::size_t kShown = 60;
  std::vector<std::pair<std::string, std::string>> said;
  for (const Ordinal ordinal : path_to(log.index(), log.index().leaf())) {
    const std::string_view name = log.index().name(ordinal);
    if (name == "user" || name == "tool" || name == "command" || name == "assistant" || name == "summary") {
      json::Document record;
      ASSERT_TRUE(json::parse(log.raw(ordinal), record));
      said.emplace_back(name == "assistant" ? "assistant" : "user", first_characters(said_in(record), kShown));
    }
  }
  std::vector<std::pair<std::string, std::string>> expected;
  for (const json::Value& message : json::member(wanted, "conversation")->GetArray()) {
    expected.emplace_back(json::as_string(message[0]), json::as_string(message[1]));
  }
  EXPECT_EQ(said, expected);
}

std::filesystem::path file_of(const std::string& name) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(kClaude / "projects")) {
    if (file.path().filename() == name) {
      return file.path();
    }
  }
  return {};
}

TEST(ClaudeSamples, TreesPathsAndTitlesEqualTheExpectedOnes) {
  json::Document all;
  ASSERT_TRUE(json::parse(claude_bytes(kClaude / "expected.json"), all));
  EXPECT_EQ(all.GetArray().Size(), 4U);
  for (const json::Value& wanted : all.GetArray()) {
    const std::string id(*json::string_member(wanted, "id"));
    SCOPED_TRACE(id);
    const ClaudeLog log(claude_bytes(file_of(id + ".jsonl")));
    const Header& header = log.index().header();
    EXPECT_TRUE(header.valid);
    EXPECT_EQ(header.id, id);
    EXPECT_EQ(header.title, json::string_member(wanted, "title").value_or(""));
    EXPECT_EQ(header.cwd, json::string_member(wanted, "cwd").value_or(""));
    EXPECT_EQ(header.parent_session, "");
    EXPECT_EQ(log.index().damage().size(), json::member(wanted, "badLines")->GetArray().Size());
    expect_claude_tree(log, wanted);
    expect_conversation(log, wanted);
    const auto sidechain =
        log.ids([&](Ordinal o) { return log.raw(o).find(R"("isSidechain":true)") != std::string::npos; });
    EXPECT_EQ(sidechain.size(), json::member(wanted, "sidechainRecords")->GetDouble());
    for (const std::string& file : claude_texts(wanted, "subagents")) {
      EXPECT_EQ(ClaudeLog(claude_bytes(kClaude / file)).index().header().parent_session, id);
    }
  }
}

TEST(ClaudeSamples, EachReplyIsCountedOnce) {
  const auto usage = [](const char* id) {
    return plain_usage_json(ClaudeLog(claude_bytes(file_of(std::string(id) + ".jsonl"))).details().usage());
  };
  EXPECT_EQ(usage("11111111-1111-4111-8111-111111111111"),
            R"({"input":7236,"output":240,"reasoning":0,"cacheRead":600,"cacheWrite":0,"cost":0.025488})");
  EXPECT_EQ(usage("44444444-4444-4444-8444-444444444444"), R"({"input":103,"output":30,"cacheRead":0,"cacheWrite":0})");
}

TEST(ClaudeSamples, ImagesAreFound) {
  const ClaudeLog log(claude_bytes(file_of("44444444-4444-4444-8444-444444444444.jsonl")));
  const auto images = log.details().images();
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].ordinal, 9U);
  EXPECT_EQ(images[0].extension, "png");
  EXPECT_EQ(log.text(9), "What is in this picture?\n\n[image 1: image/png]\n");
  const auto bytes = read_inline_image(log.source(), log.index().entry(9), images[0], 0, images[0].size);
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(bytes->starts_with("\x89PNG\r\n"));
}

/// A preserved reply follows the summary, and adjacent rows of one role are one message.
TEST(ClaudeSamples, ContextAfterACompactionHasWhatItPreserved) {
  const ClaudeLog log(claude_bytes(file_of("33333333-3333-4333-8333-333333333333.jsonl")));
  json::Document context;
  ASSERT_TRUE(json::parse(log.context(), context));
  Texts roles;
  for (const json::Value& message : json::member(context, "messages")->GetArray()) {
    roles.emplace_back(json::string_member(message, "role").value_or(""));
  }
  EXPECT_EQ(roles, (Texts{"user", "assistant", "user", "system", "user", "system", "user", "assistant"}));
  const json::Value& messages = *json::member(context, "messages");
  EXPECT_TRUE(json::string_member(messages[0], "content")->starts_with("This session is being continued"));
  EXPECT_EQ(json::stringify(*json::member(messages[1], "content")), R"([{"type":"text","text":"Understood: "}])");
  EXPECT_EQ(json::member(messages[2], "content")->GetArray().Size(), 3U);
}

}  // namespace
}  // namespace arborfs::conformance
