// goat's sessions read by goat's rules: tests/goat/nested.json and flat.json hold the results of an independent reader
// for tests/goat/nested and tests/goat/flat.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/entry/record_renderer.h"
#include "core/entry/text_sizes.h"
#include "core/entry/tree.h"
#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/format.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/metadata.h"
#include "core/json/document.h"
#include "core/log/log_reader.h"
#include "core/log/record_fields.h"
#include "core/os/disk.h"
#include "core/store/store_parts.h"
#include "tests/support/paths.h"

namespace arborfs::conformance {
namespace {

const std::filesystem::path kGoatSamples = std::filesystem::path(tests::kTestData) / "goat";

using Texts = std::vector<std::string>;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class GoatLog {
 public:
  explicit GoatLog(std::shared_ptr<const LogSource> log) : log_(std::move(log)) {
    auto index = goat::format().reader->index(*log_, {});
    EXPECT_TRUE(index);
    index_ = std::move(*index);
  }
  explicit GoatLog(const std::string& messages) : GoatLog(log_from_bytes(messages)) {}

  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] const LogSource& log() const { return *log_; }
  [[nodiscard]] Texts ids() const {
    Texts found;
    for (Ordinal ordinal = 1; ordinal <= index_->size(); ++ordinal) {
      found.push_back(index_->id(ordinal).text);
    }
    return found;
  }
  [[nodiscard]] std::string raw(Ordinal ordinal) const {
    const auto bytes = log_->read(index_->entry(ordinal).offset, index_->length(ordinal));
    EXPECT_TRUE(bytes);
    return bytes ? *bytes : "";
  }
  [[nodiscard]] std::string text(Ordinal ordinal) const {
    std::string out;
    goat::format().renderer->render(index_->entry(ordinal).type, raw(ordinal), out);
    EXPECT_EQ(goat::format().renderer->measure(index_->entry(ordinal).type, raw(ordinal)).size, out.size());
    return out;
  }
  [[nodiscard]] TextSizes details() const {
    auto sizes = measure_log(*goat::format().renderer, *log_, *index_);
    EXPECT_TRUE(sizes);
    return std::move(*sizes);
  }
  [[nodiscard]] std::string context() const {
    const auto content = goat::format().renderer->context(context_path(*index_, index_->leaf()), log_, nullptr);
    EXPECT_TRUE(content);
    const auto all = content ? (*content)->read_all() : Result<std::string>(content.error());
    return all ? *all : "";
  }

 private:
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
};

std::string text_at(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

/// The text of a message as the independent reader has it: the parts of a list together.
std::string content_of(const json::Value& message) {
  const json::Value* content = json::member(message, "content");
  if (content == nullptr || !content->IsArray()) {
    return text_at(message, "content");
  }
  std::string all;
  for (const json::Value& part : content->GetArray()) {
    all += text_at(part, "text");
  }
  return all;
}

Texts calls_of(const json::Value& message) {
  Texts names;
  const json::Value* calls = json::member(message, "tool_calls");
  if (calls != nullptr) {
    for (const json::Value& call : calls->GetArray()) {
      names.push_back(text_at(*json::member(call, "function"), "name"));
    }
  }
  return names;
}

Texts texts_in(const json::Value& list) {
  Texts found;
  for (const json::Value& value : list.GetArray()) {
    found.emplace_back(json::as_string(value));
  }
  return found;
}

/// Each message is a list of uuid, role, text and the tools that it calls.
void expect_messages(const GoatLog& log, const json::Value& wanted) {
  json::Document context;
  ASSERT_TRUE(json::parse(log.context(), context));
  const auto messages = json::member(context, "messages")->GetArray();
  const auto all = json::member(wanted, "messages")->GetArray();
  ASSERT_EQ(log.index().size(), all.Size());
  ASSERT_EQ(messages.Size(), all.Size());
  for (Ordinal ordinal = 1; ordinal <= all.Size(); ++ordinal) {
    const json::Value& message = messages[ordinal - 1];
    const json::Value& told = all[ordinal - 1];
    EXPECT_EQ(log.index().id(ordinal).text, json::as_string(told[0]));
    EXPECT_EQ(log.index().name(ordinal), json::as_string(told[1]));
    EXPECT_EQ(text_at(message, "role"), json::as_string(told[1]));
    EXPECT_EQ(content_of(message), json::as_string(told[2]));
    EXPECT_EQ(calls_of(message), texts_in(told[3]));
    EXPECT_EQ(json::member(message, "uuid"), nullptr);
    EXPECT_EQ(log.index().parent(ordinal), ordinal - 1);
    EXPECT_NE(log.index().entry(ordinal).timestamp_ms, Entry::kNoTime);
    EXPECT_NE(log.text(ordinal), "");
  }
  EXPECT_EQ(log.index().leaf(), log.index().size());
}

/// The numbers of the lines, from 1, that the damage is in.
void expect_damage(const GoatLog& log, const json::Value& wanted) {
  const auto size = log.log().size();
  const auto bytes = size ? log.log().read(0, *size) : Result<std::string>(size.error());
  ASSERT_TRUE(bytes);
  std::vector<double> lines;
  for (const Damage& run : log.index().damage()) {
    lines.push_back(1 + static_cast<double>(std::count(bytes->begin(), bytes->begin() + run.offset, '\n')));
    EXPECT_EQ(run.kind == Damage::Kind::unfinished, run.offset + run.length == bytes->size());
  }
  std::vector<double> bad;
  for (const json::Value& line : json::member(wanted, "badLines")->GetArray()) {
    bad.push_back(line.GetDouble());
  }
  EXPECT_EQ(lines, bad);
  EXPECT_EQ(bytes->empty() || bytes->ends_with('\n'), json::member(wanted, "endsWithNewline")->IsTrue());
}

std::string_view state_word(goat::CheckpointFile::State state) {
  switch (state) {
    case goat::CheckpointFile::State::stored:
      return "ok";
    case goat::CheckpointFile::State::absent:
      return "absent";
    case goat::CheckpointFile::State::missing:
      break;
  }
  return "missing-blob";
}

void expect_checkpoints(const Dir& folder, const json::Value& wanted) {
  const auto found = goat::list_checkpoints(folder);
  ASSERT_TRUE(found);
  const auto all = json::member(wanted, "checkpoints")->GetArray();
  ASSERT_EQ(found->size(), all.Size());
  for (std::size_t at = 0; at < found->size(); ++at) {
    const goat::Checkpoint& checkpoint = (*found)[at];
    EXPECT_EQ(checkpoint.id, text_at(all[static_cast<rapidjson::SizeType>(at)], "id"));
    EXPECT_TRUE(goat::is_rfc3339(checkpoint.created_at));
    const auto files = json::member(all[static_cast<rapidjson::SizeType>(at)], "files")->GetArray();
    ASSERT_EQ(checkpoint.files.size(), files.Size());
    for (rapidjson::SizeType i = 0; i < files.Size(); ++i) {
      EXPECT_EQ(checkpoint.files[i].path, json::as_string(files[i][0]));
      EXPECT_EQ(state_word(checkpoint.files[i].state), json::as_string(files[i][1]));
      const auto content = goat::open_content(folder, checkpoint.id, checkpoint.files[i].hash);
      EXPECT_EQ(content.has_value(), checkpoint.files[i].state == goat::CheckpointFile::State::stored);
    }
  }
}

void expect_session(const Store& store, const json::Value& wanted) {
  const std::string id = text_at(wanted, "id");
  const auto place = store.log_of(id, "messages.jsonl");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->stem(), id);
  auto source = store.open(*place);
  ASSERT_TRUE(source);
  const auto now = store.stat(*place);
  EXPECT_TRUE(now && *now == (*source)->opened());
  const GoatLog log(*source);
  const Header& header = log.index().header();
  EXPECT_TRUE(header.valid);
  EXPECT_EQ(header.id, id);
  EXPECT_EQ(header.title, text_at(wanted, "title"));
  EXPECT_EQ(header.cwd, text_at(wanted, "cwd"));
  EXPECT_EQ(header.parent_session, text_at(wanted, "parentSession"));
  EXPECT_TRUE(goat::is_rfc3339(header.timestamp));
  expect_messages(log, wanted);
  expect_damage(log, wanted);
  const auto folder = artifacts_of(store, *place);
  ASSERT_TRUE(folder);
  expect_checkpoints(*folder, wanted);
}

void expect_sample(const std::string& name) {
  json::Document all;
  ASSERT_TRUE(json::parse(bytes_of(kGoatSamples / (name + ".json")), all));
  EXPECT_EQ(all.GetArray().Size(), 3U);
  const auto store = goat::make_store((kGoatSamples / name).string(), Disk::real());
  const auto folders = store->folders();
  ASSERT_TRUE(folders);
  EXPECT_EQ(folders->size(), 3U);
  for (const json::Value& wanted : all.GetArray()) {
    SCOPED_TRACE(text_at(wanted, "id"));
    expect_session(*store, wanted);
    const auto logs = store->logs(text_at(wanted, "id"), [](const LogPlace&) { return true; });
    ASSERT_TRUE(logs && logs->size() == 1 && logs->front().head);
    EXPECT_EQ(logs->front().head->header.id, text_at(wanted, "id"));
  }
}

TEST(GoatSamples, NestedSessionsEqualTheExpectedOnes) {
  expect_sample("nested");
}

TEST(GoatSamples, FlatSessionsEqualTheExpectedOnes) {
  expect_sample("flat");
}

std::string goat_line(const std::string& uuid, const std::string& content) {
  return R"({"uuid":")" + uuid + R"(","timestamp":"2026-02-09T10:00:01Z","message":{"role":"user","content":")" +
         content + "\"}}\n";
}

TEST(GoatReader, MessagesWithOneUuidStayInOneChain) {
  const GoatLog log(goat_line("a", "1") + goat_line("b", "2") + goat_line("a", "3") + "{\"message\":{}}\n{}\n" +
                    goat_line("a#6", "4") + goat_line("c", "5"));
  EXPECT_EQ(log.ids(), (Texts{"a", "b", "a#3", "#4", "#5", "a#6", "c"}));
  EXPECT_FALSE(log.index().has_duplicate_ids());
  EXPECT_EQ(path_to(log.index(), log.index().leaf()).size(), 7U);
  EXPECT_EQ(log.index().find("a"), 1U);
}

TEST(GoatReader, KeysMatchInAnyCaseAndTheLastOneCounts) {
  const GoatLog log(R"({"UUID":"a","uuid":null,"Message":{"Role":"user","content":"x","CONTENT":"y"}})"
                    "\n");
  EXPECT_EQ(log.ids(), Texts{"a"});
  EXPECT_EQ(log.index().name(1), "user");
  EXPECT_EQ(log.text(1), "y\n");
}

TEST(GoatReader, LinesThatGoRejectsAreCounted) {
  const Texts rejected = {"[]",
                          "null",
                          R"({"uuid":5})",
                          R"({"uuid":"b","timestamp":"yesterday"})",
                          R"({"uuid":"b","timestamp":"2026-02-30T10:00:01Z"})",
                          R"({"uuid":"b","message":[]})",
                          R"({"uuid":"b","message":{"role":1}})",
                          R"({"uuid":"b","message":{"tool_calls":{}}})"};
  for (const std::string& line : rejected) {
    const GoatLog log(goat_line("a", "1") + line + "\n" + goat_line("c", "2"));
    EXPECT_EQ(log.ids(), (Texts{"a", "c"})) << line;
    EXPECT_TRUE(log.index().damage().empty()) << line;
    EXPECT_EQ(log.index().not_shown().by_type(), (RecordCounts::ByType{{"value", 1}})) << line;
  }
  const GoatLog named(R"({"uuid":"b","timestamp":"yesterday","role":"user"})"
                      "\n");
  EXPECT_EQ(named.index().not_shown().by_type(), (RecordCounts::ByType{{"user", 1}}));
}

TEST(GoatReader, LinesThatAreNotJsonAreDamage) {
  const std::string good = goat_line("a", "1");
  for (const std::string& line : {std::string("\0\0", 2), std::string("{\"uuid\":\"b\"} x")}) {
    const GoatLog log(good + line + "\n\n" + goat_line("c", "2"));
    EXPECT_EQ(log.ids(), (Texts{"a", "c"})) << line;
    ASSERT_EQ(log.index().damage().size(), 1U) << line;
    EXPECT_EQ(log.index().damage()[0].kind, Damage::Kind::malformed);
    EXPECT_EQ(log.index().damage()[0].offset, good.size());
  }
}

TEST(GoatReader, LastLineWithoutLineFeedCountsIfItIsWhole) {
  std::string line = goat_line("a", "1");
  line.pop_back();
  EXPECT_EQ(GoatLog(line).ids(), Texts{"a"});
  line.pop_back();
  const GoatLog torn(line);
  EXPECT_EQ(torn.index().size(), 0U);
  ASSERT_EQ(torn.index().damage().size(), 1U);
  EXPECT_TRUE(torn.index().damage()[0].in_progress);
}

TEST(GoatReader, TimesHaveNanosecondsAndZones) {
  const GoatLog log(R"({"uuid":"a","timestamp":"2026-02-09T10:00:01.623456789+01:00"})"
                    "\n"
                    R"({"uuid":"b","timestamp":"0001-01-01T00:00:00Z"})"
                    "\n");
  EXPECT_EQ(log.index().entry(1).timestamp_ms, 1770627601623);
  EXPECT_EQ(log.index().entry(2).timestamp_ms, Entry::kNoTime);
}

TEST(GoatReader, SessionWithoutMetadataHasMessages) {
  const GoatLog log(goat_line("a", "1"));
  EXPECT_FALSE(log.index().header().valid);
  EXPECT_NE(log.index().header().problem, "");
  EXPECT_EQ(log.ids(), Texts{"a"});
}

TEST(GoatTimes, AreThoseOfRfc3339) {
  for (const char* good : {"2026-02-09T10:00:01Z", "2024-02-29T23:59:59.5-08:30", "2026-12-31T00:00:00.000000001Z"}) {
    EXPECT_TRUE(goat::is_rfc3339(good)) << good;
  }
  for (const char* bad : {"", "2026-02-09", "2026-02-09T10:00:01", "2026-02-29T10:00:01Z", "2026-13-01T10:00:01Z",
                          "2026-02-09T24:00:01Z", "2026-02-09T10:00:01.Z", "2026-02-09T10:00:01+1:00",
                          "2026-02-09T10:00:01.5", "2026-02-09t10:00:01z", "2026-02-09T10:00:01Z "}) {
    EXPECT_FALSE(goat::is_rfc3339(bad)) << bad;
  }
}

const std::string kPicture =
    R"({"uuid":"a","message":{"role":"user","content":[{"type":"text","text":"And this?"},)"
    R"({"type":"image_url","image_url":{"url":"https://x.example/1.png"}},)"
    R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"auto"}}]}})"
    "\n";

TEST(GoatTexts, ShowCallsAndImages) {
  const GoatLog log(R"({"uuid":"a","role":"assistant","content":"I look.","tool_calls":[{"id":"1","type":"function",)"
                    R"("function":{"name":"Read","arguments":"{\"file_path\":\"x.go\"}"}}]})"
                    "\n" +
                    kPicture);
  EXPECT_EQ(log.text(1), "I look.\n\n```\nRead\nfile_path: x.go\n```\n");
  EXPECT_EQ(log.text(2), "And this?\n\n[image 1]\n\n[image 2: image/png]\n");
}

TEST(GoatTexts, InlineImagesHaveTheirBytes) {
  const GoatLog log(kPicture);
  const TextSizes details = log.details();
  ASSERT_EQ(details.images().size(), 1U);
  EXPECT_EQ(details.images()[0].number, 2U);
  EXPECT_EQ(details.images()[0].extension, "png");
  const auto bytes = read_inline_image(log.log(), log.index().entry(1), details.images()[0], 0, 100);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, "\x89PNG\r\n\x1a\n");
}

TEST(GoatContext, HasTheMessagesWithoutTheirEnvelope) {
  const GoatLog log(goat_line("a", "1") +
                    R"({"uuid":"b", "role":"user", "timestamp":"2026-02-09T10:00:01Z", "content": null})"
                    "\n{}\n");
  EXPECT_EQ(
      log.context(),
      "{\"messages\":[\n{\"role\":\"user\",\"content\":\"1\"},\n{\"role\":\"user\",\"content\": null},\n{}\n]}\n");
}

TEST(GoatUsage, IsTheCostThatTheMetadataTells) {
  goat::Parts parts;
  parts.metadata = FileStat{};
  const auto source = [&](const char* metadata) {
    return std::make_shared<const goat::Source>(parts, nullptr, goat::Metadata{metadata, 0, nullptr});
  };
  EXPECT_EQ(plain_usage_json(GoatLog(source(R"({"id":"s","total_cost_usd":0.0234,"turn_count":3})")).details().usage()),
            R"({"cost":0.0234})");
  EXPECT_EQ(plain_usage_json(GoatLog(source(R"({"id":"s"})")).details().usage()), "{}");
}

}  // namespace
}  // namespace arborfs::conformance
