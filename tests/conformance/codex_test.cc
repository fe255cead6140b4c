// Codex's threads read by Codex's rules: tests/codex/*.json hold the results of an independent reader for the files of
// tests/codex/paginated and tests/codex/legacy.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/codex/format.h"
#include "core/formats/codex/thread_table.h"
#include "core/formats/codex/segments_log.h"
#include "core/json/document.h"
#include "core/log/log_reader.h"
#include "core/entry/tree.h"
#include "core/entry/usage.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text_sizes.h"
#include "core/store/store_parts.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"

namespace arborfs::conformance {
namespace {

namespace fs = std::filesystem;

const fs::path kSamples = fs::path(tests::kTestData) / "codex";
constexpr std::size_t kExpectedText = 60;

std::string codex_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class CodexThread {
 public:
  explicit CodexThread(std::shared_ptr<const LogSource> log) : log_(std::move(log)) {
    auto index = codex::format().reader->index(*log_, {});
    EXPECT_TRUE(index);
    index_ = std::move(*index);
  }
  explicit CodexThread(std::string bytes) : CodexThread(log_from_bytes(std::move(bytes))) {}

  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] const LogSource& log() const { return *log_; }
  [[nodiscard]] std::string id(Ordinal ordinal) const { return ordinal == kNoEntry ? "" : index_->id(ordinal).text; }
  [[nodiscard]] std::vector<std::string> path(Ordinal leaf) const {
    std::vector<std::string> found;
    for (const Ordinal ordinal : path_to(*index_, leaf)) {
      found.push_back(id(ordinal));
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> path() const { return path(index_->leaf()); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (Ordinal ordinal = 1; ordinal <= index_->size(); ++ordinal) {
      found.emplace_back(index_->name(ordinal));
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
    codex::format().renderer->render(index_->entry(ordinal).type, raw(ordinal), out);
    EXPECT_EQ(codex::format().renderer->measure(index_->entry(ordinal).type, raw(ordinal)).size, out.size());
    return out;
  }
  [[nodiscard]] std::string context(Ordinal leaf) const {
    const auto content = codex::format().renderer->context(context_path(*index_, leaf), log_, nullptr);
    EXPECT_TRUE(content);
    const auto all = content ? (*content)->read_all() : Result<std::string>(content.error());
    return all ? *all : "";
  }
  [[nodiscard]] std::string context() const { return context(index_->leaf()); }
  [[nodiscard]] std::string usage() const {
    const auto sizes = measure_log(*codex::format().renderer, *log_, *index_);
    EXPECT_TRUE(sizes);
    return plain_usage_json(sizes->usage());
  }

 private:
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
};

CodexThread open_thread(const std::string& store, const std::string& thread) {
  const auto log = codex::make_store((kSamples / store).string(), Disk::real())->open({"sessions", thread + ".jsonl"});
  EXPECT_TRUE(log);
  return CodexThread(*log);
}

using Line = std::pair<std::string, std::string>;

std::string first_text(const json::Value& item) {
  const json::Value* content = json::member(item, "content");
  const bool has_text = content != nullptr && content->IsArray() && !content->Empty();
  return has_text ? std::string(json::string_member((*content)[0], "text").value_or("")) : "";
}

/// The context as the independent reader lists it: the texts of users and models, and the names of tools.
std::vector<Line> conversation(const CodexThread& thread, Ordinal leaf) {
  std::vector<Line> lines;
  std::string compaction;
  for (const Ordinal ordinal : path_to(thread.index(), leaf)) {
    compaction = thread.index().type_text(ordinal) == "compaction" ? thread.raw(ordinal) : compaction;
  }
  json::Document context;
  EXPECT_TRUE(json::parse(thread.context(leaf), context));
  for (const json::Value& item : json::member(context, "messages")->GetArray()) {
    const std::string_view type = json::string_member(item, "type").value_or("");
    const std::string_view role = json::string_member(item, "role").value_or("");
    const std::string text = first_text(item);
    const bool is_put_in = role == "developer" || text.starts_with('<') || text.starts_with("# AGENTS");
    if (type == "function_call") {
      lines.emplace_back("tool_call", json::string_member(item, "name").value_or(""));
    } else if (type == "message" && !is_put_in) {
      lines.emplace_back(role, text.substr(0, kExpectedText));
    }
  }
  if (!compaction.empty()) {
    if (compaction.find("\"replacement_history\"") == std::string::npos) {
      lines.erase(lines.begin(), lines.begin() + 2);  // made by the reader of contexts: the prompt and the summary
    }
    lines.insert(lines.begin(), {"compacted", ""});
  }
  return lines;
}

std::vector<Line> expected_lines(const json::Value& wanted) {
  std::vector<Line> lines;
  for (const json::Value& line : json::member(wanted, "conversation")->GetArray()) {
    lines.emplace_back(json::as_string(line[0]), json::as_string(line[1]));
  }
  return lines;
}

/// The last entry whose bytes are in a segment.
Ordinal last_in(const CodexThread& thread, const codex::Segment& segment) {
  Ordinal found = kNoEntry;
  for (Ordinal ordinal = 1; ordinal <= thread.index().size(); ++ordinal) {
    const std::uint64_t offset = thread.index().entry(ordinal).offset;
    found = offset >= segment.start && offset < segment.start + segment.length ? ordinal : found;
  }
  return found;
}

double number_at(const json::Value& object, std::string_view key) {
  return json::member(object, key)->GetDouble();
}

void expect_base(const codex::Segment& segment, const json::Value& wanted) {
  const json::Value& base = *json::member(wanted, "historyBase");
  const auto& found = segment.head.base;
  EXPECT_TRUE(segment.head.is_settled);
  ASSERT_EQ(found.has_value(), base.IsObject());
  if (found) {
    EXPECT_EQ(found->segment, *json::string_member(base, "thread_id"));
    EXPECT_EQ(static_cast<double>(found->end_ordinal), number_at(base, "end_ordinal_exclusive"));
    EXPECT_EQ(static_cast<double>(found->end_byte), number_at(base, "end_byte_offset"));
  }
}

void expect_records(const std::string& bytes, const json::Value& wanted) {
  EXPECT_EQ(static_cast<double>(std::count(bytes.begin(), bytes.end(), '\n')), number_at(wanted, "records"));
  json::Document first;
  ASSERT_TRUE(json::parse(bytes.substr(0, bytes.find('\n')), first));
  const json::Value* ordinal = json::member(first, "ordinal");
  const json::Value& wanted_ordinal = *json::member(wanted, "firstOrdinal");
  EXPECT_EQ(ordinal != nullptr, wanted_ordinal.IsNumber());
  EXPECT_TRUE(ordinal == nullptr || ordinal->GetDouble() == wanted_ordinal.GetDouble());
}

void expect_file(const std::string& store, const json::Value& wanted) {
  const fs::path file(*json::string_member(wanted, "file"));
  SCOPED_TRACE(file.string());
  const auto name = codex::parse_rollout_name(file.filename().string());
  ASSERT_TRUE(name);
  EXPECT_EQ(name->thread, *json::string_member(wanted, "id"));
  const CodexThread thread = open_thread(store, name->thread);
  const Header& header = thread.index().header();
  EXPECT_TRUE(header.valid);
  EXPECT_EQ(header.id, name->thread);
  EXPECT_EQ(header.title, json::string_member(wanted, "title").value_or(""));
  EXPECT_EQ(header.cwd, *json::string_member(wanted, "cwd"));
  EXPECT_EQ(header.parent_session, json::string_member(wanted, "forkedFrom").value_or(""));
  EXPECT_TRUE(json::member(wanted, "badLines")->Empty());
  EXPECT_TRUE(thread.index().damage().empty());
  const auto& segments = dynamic_cast<const codex::SegmentsLog&>(thread.log()).segments();
  const auto segment =
      std::find_if(segments.begin(), segments.end(), [&](const auto& each) { return each.id == name->segment; });
  ASSERT_NE(segment, segments.end());
  expect_base(*segment, wanted);
  const std::string bytes = codex_bytes(kSamples / store / file);
  EXPECT_EQ(*thread.log().read(segment->start, segment->length), bytes);
  expect_records(bytes, wanted);
  EXPECT_EQ(conversation(thread, last_in(thread, *segment)), expected_lines(wanted));
  if (&*segment == &segments.back()) {
    EXPECT_EQ(thread.index().leaf(), last_in(thread, *segment));
  }
}

TEST(CodexSamples, AllValuesEqualTheExpectedOnes) {
  std::size_t files = 0;
  for (const char* store : {"paginated", "legacy"}) {
    json::Document all;
    ASSERT_TRUE(json::parse(codex_bytes(kSamples / (std::string(store) + ".json")), all));
    for (const json::Value& wanted : all.GetArray()) {
      expect_file(store, wanted);
      ++files;
    }
  }
  EXPECT_EQ(files, 7U);
}

TEST(CodexSamples, EveryFileBelongsToAThread) {
  const auto logs = codex::make_store((kSamples / "paginated").string(), Disk::real())->logs("sessions", {});
  ASSERT_TRUE(logs);
  std::vector<std::string> files;
  std::transform(logs->begin(), logs->end(), std::back_inserter(files), [](const auto& log) { return log.place.file; });
  EXPECT_EQ(files, (std::vector<std::string>{"01a1ffe5-09c1-7be0-82ef-7bbde2eca945.jsonl",
                                             "01a1ffe5-385d-76d2-b125-538e816d179e.jsonl",
                                             "01a1ffe5-5213-70a0-b8cb-d273a092db5c.jsonl"}));
}

TEST(CodexSegmentOpener, OpensASegmentOnceUntilItIsLetGo) {
  const std::string home = (kSamples / "paginated").string();
  const auto table = codex::ThreadTable::read(home);
  for (const auto use : {codex::SegmentOpener::Use::once, codex::SegmentOpener::Use::lasting}) {
    codex::SegmentOpener opener(home, use);
    for (const auto& [thread, files] : table.threads()) {
      const auto log = opener.open(files.front());
      ASSERT_TRUE(log);
      EXPECT_EQ((*log)->opened(), files.front().stat);
      EXPECT_EQ(*opener.open(files.front()), *log);
      opener.let_go();
      EXPECT_NE(*opener.open(files.front()), *log);
    }
  }
}

/// More of them than one thread looks at in a row.
TEST(CodexStore, FindsManyThreadsInTheOrderOfTheirIds) {
  const arborfs::testing::TempStore temp;
  const fs::path folder = fs::path(temp.root()) / "sessions/2026/01/02";
  fs::create_directories(folder);
  std::vector<std::string> wanted;
  for (int number = 100; number < 400; ++number) {
    const std::string id = "01a1ffe5-09c1-7be0-82ef-000000000" + std::to_string(number);
    wanted.push_back(id + ".jsonl");
    std::ofstream(folder / ("rollout-2026-01-02T03-04-05-" + id + ".jsonl"))
        << R"({"type":"session_meta","payload":{"id":")" << id << R"(","cwd":"/w"}})"
        << "\n";
  }
  const auto logs = codex::make_store(temp.root(), Disk::real())->logs("sessions", [](const LogPlace&) { return true; });
  ASSERT_TRUE(logs);
  std::vector<std::string> files;
  for (const FoundLog& log : *logs) {
    files.push_back(log.place.file);
    ASSERT_TRUE(log.head);
    EXPECT_EQ(log.head->header.id, log.place.stem());
  }
  EXPECT_EQ(files, wanted);
}

/// Replaces every rollout below `home` by a compressed one.
void compress_all(const fs::path& home) {
  std::vector<fs::path> rollouts;
  for (const auto& entry : fs::recursive_directory_iterator(home)) {
    if (entry.path().filename().string().starts_with("rollout-")) {
      rollouts.push_back(entry.path());
    }
  }
  for (const fs::path& path : rollouts) {
    const std::string bytes = codex_bytes(path);
    std::string packed(ZSTD_compressBound(bytes.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
    std::ofstream(path.string() + ".zst", std::ios::binary) << packed;
    fs::remove(path);
  }
}

TEST(CodexSamples, CompressedThreadsHaveTheSameBytes) {
  for (const char* folder : {"paginated", "legacy"}) {
    const testing::TempStore temp;
    const fs::path copy = fs::path(temp.root()) / folder;
    fs::copy(kSamples / folder, copy, fs::copy_options::recursive);
    compress_all(copy);
    const auto plain = codex::make_store((kSamples / folder).string(), Disk::real());
    const auto packed = codex::make_store(copy.string(), Disk::real());
    const auto wanted = plain->logs("sessions", [](const LogPlace&) { return true; });
    const auto logs = packed->logs("sessions", [](const LogPlace&) { return true; });
    ASSERT_TRUE(wanted && logs);
    ASSERT_EQ(logs->size(), wanted->size());
    for (std::size_t i = 0; i < logs->size(); ++i) {
      const FoundLog& found = (*logs)[i];
      ASSERT_TRUE(found.head && found.left_out.empty()) << found.left_out;
      EXPECT_EQ(found.head->header.json, (*wanted)[i].head->header.json);
      EXPECT_TRUE(faults_of(*packed, found.place).empty());
      const auto log = packed->open(found.place);
      const auto other = plain->open((*wanted)[i].place);
      ASSERT_TRUE(log && other);
      EXPECT_EQ((*log)->opened(), found.stat);
      EXPECT_EQ(*(*log)->stat(), found.stat);
      EXPECT_EQ(*packed->stat(found.place), found.stat);
      EXPECT_EQ(*(*log)->read(0, *(*log)->size()), *(*other)->read(0, *(*other)->size()));
    }
  }
}

TEST(CodexSamples, AStoreStatsAThreadAsItsLogDoes) {
  for (const char* folder : {"paginated", "legacy"}) {
    const auto store = codex::make_store((kSamples / folder).string(), Disk::real());
    const auto logs = store->logs("sessions", [](const LogPlace&) { return true; });
    ASSERT_TRUE(logs);
    for (const FoundLog& found : *logs) {
      const auto log = store->open(found.place);
      ASSERT_TRUE(log);
      EXPECT_EQ((*log)->opened(), found.stat);
      EXPECT_EQ(*store->stat(found.place), found.stat);
      EXPECT_EQ(*(*log)->stat(), found.stat);
      EXPECT_EQ(*(*log)->size(), found.stat.size);
      EXPECT_TRUE(found.head && found.head->header.valid);
    }
  }
}

TEST(CodexSamples, UsageCountsEachResponseOnce) {
  EXPECT_EQ(open_thread("legacy", "01a1ffe5-f4fe-7fb2-82fb-b85d6c526a39").usage(),
            R"({"input":5518,"output":200,"reasoning":50,"cacheRead":500,"totalTokens":6218})");
  EXPECT_EQ(open_thread("paginated", "01a1ffe5-385d-76d2-b125-538e816d179e").usage(),
            R"({"input":1104,"output":40,"reasoning":10,"cacheRead":100,"cacheWrite":0,"totalTokens":1244})");
}

TEST(CodexSamples, EachResponseIsOfTheModelOfItsTurn) {
  const auto log = log_from_bytes(
      "{\"type\":\"session_meta\",\"payload\":{\"id\":\"t\"}}\n"
      "{\"type\":\"turn_context\",\"payload\":{\"model\":\"small\"}}\n"
      "{\"type\":\"turn_context\",\"payload\":{\"model\":\"small\"}}\n"
      "{\"type\":\"response_item\",\"payload\":{\"model\":\"turn_context\"}}\n"
      "{\"type\":\"turn_context\",\"payload\":{\"mod\n"
      "{\"type\":\"turn_context\",\"payload\":{\"model\":\"large\"}}");
  const auto changes = codex::format().reader->model_changes(*log, {});
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 2U);
  EXPECT_EQ(changes->front().model, "small");
  EXPECT_EQ(changes->front().offset, 45U);
  EXPECT_EQ(changes->back().model, "large");
}

std::string record(const std::string& type, const std::string& payload, int ordinal = -1) {
  return R"({"timestamp":"2026-11-21T20:56:02.763Z",)" +
         (ordinal < 0 ? "" : "\"ordinal\":" + std::to_string(ordinal) + ",") + R"("type":")" + type +
         R"(","payload":)" + payload + "}\n";
}

std::string meta() {
  return record("session_meta", R"({"id":"t","cwd":"/w","timestamp":"2026-11-21T20:56:02.000Z"})");
}

std::string says(const std::string& role, const std::string& text) {
  return record("response_item", R"({"type":"message","role":")" + role +
                                     R"(","content":[{"type":"input_text","text":")" + text + R"("}]})");
}

std::string rolled_back(int turns) {
  return record("event_msg", R"({"type":"thread_rolled_back","num_turns":)" + std::to_string(turns) + "}");
}

using Words = std::vector<std::string>;

TEST(CodexReader, RollbackDropsTheLastTurnsOfTheUser) {
  const std::string talk = meta() + says("user", "<environment_context>") + says("user", "one") +
                           says("assistant", "1") + says("user", "two") + says("assistant", "2");
  EXPECT_EQ(CodexThread(talk).path(), (Words{"0:2", "0:3", "0:4", "0:5", "0:6"}));
  EXPECT_EQ(CodexThread(talk + rolled_back(1)).path(), (Words{"0:2", "0:3", "0:4"}));
  EXPECT_EQ(CodexThread(talk + rolled_back(2) + says("user", "three")).path(), (Words{"0:2", "0:8"}));
  EXPECT_EQ(CodexThread(talk + rolled_back(9)).path(), Words{"0:2"});
  EXPECT_EQ(CodexThread(talk + rolled_back(0)).path().size(), 5U);
  EXPECT_EQ(CodexThread(talk + rolled_back(1) + rolled_back(1)).path(), Words{"0:2"});
  EXPECT_EQ(CodexThread(meta() + rolled_back(1)).index().leaf(), kNoEntry);
}

TEST(CodexReader, WordsTellWhatCodexPutIn) {
  const CodexThread thread(meta() + says("developer", "x") + says("user", "# AGENTS.md instructions for /w") +
                           says("user", "<turn_aborted>") + says("user", "<user_shell_command>") +
                           says("user", "plain") + record("compacted", R"({"message":"sum"})"));
  EXPECT_EQ(thread.names(), (Words{"developer", "harness", "interruption", "shell_command", "user", "compaction"}));
}

TEST(CodexReader, EntriesOfOneIdGetIdsOfTheirOwn) {
  const std::string item = R"({"type":"reasoning","id":"rs_1","summary":[]})";
  const CodexThread thread(meta() + record("response_item", item, 1) + record("response_item", item, 2));
  EXPECT_EQ(thread.path(), (Words{"rs_1", "0:2"}));
  EXPECT_FALSE(thread.index().has_duplicate_ids());
}

TEST(CodexReader, BadLinesAreDamage) {
  const std::string torn = R"({"timestamp":"2026)";
  const CodexThread thread(meta() + "not json\n\n[1]\n{\"type\":\"x\"}\n" + says("user", "\xFF") +
                           says("user", "good") + torn);
  EXPECT_EQ(thread.path(), Words{"0:6"});
  const auto damage = thread.index().damage();
  ASSERT_EQ(damage.size(), 3U);
  EXPECT_EQ(damage[1].kind, Damage::Kind::malformed);
  EXPECT_EQ(damage[2].kind, Damage::Kind::unfinished);
  EXPECT_TRUE(damage[2].in_progress);
  EXPECT_EQ(thread.index().not_shown().by_type(), (RecordCounts::ByType{{"value", 1}, {"x", 1}}));
}

/// A first format: a header, then items without a wrapper. They are sent.
TEST(CodexReader, FirstFormatsAreRead) {
  const std::string lines =
      R"({"id":"01a1ffe5-09c1-7be0-82ef-7bbde2eca945","timestamp":"2025-07-01T10:00:00.000Z","instructions":"be brief"})"
      "\n"
      R"({"record_type":"state"})"
      "\n"
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"first words"}]})"
      "\n"
      R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"an answer"}]})"
      "\n";
  const CodexThread thread(lines);
  EXPECT_EQ(thread.index().header().id, "01a1ffe5-09c1-7be0-82ef-7bbde2eca945");
  EXPECT_EQ(thread.names(), (Words{"user", "assistant"}));
  EXPECT_NE(thread.context(2).find("first words"), std::string::npos);
  EXPECT_TRUE(thread.index().not_shown().empty());
}

TEST(CodexReader, RolloutThatIsOneObjectIsRead) {
  const std::string object =
      "{\n  \"session\": {\n    \"id\": \"s1\",\n    \"timestamp\": \"2025-05-01T10:00:00.000Z\"\n  },\n"
      "  \"items\": [\n    {\n      \"type\": \"message\",\n      \"role\": \"user\",\n"
      "      \"content\": [{\"type\": \"input_text\", \"text\": \"first words\"}]\n    },\n"
      "    {\"type\": \"message\", \"role\": \"assistant\", \"content\": []}\n  ]\n}";
  for (const std::string& bytes : {object, object + "\n"}) {
    const CodexThread thread(bytes);
    EXPECT_TRUE(thread.index().header().valid) << thread.index().header().problem;
    EXPECT_EQ(thread.index().header().id, "s1");
    EXPECT_EQ(thread.names(), (Words{"user", "assistant"}));
    EXPECT_EQ(thread.text(1), "first words\n");
    EXPECT_NE(thread.context(2).find("first words"), std::string::npos);
    EXPECT_TRUE(thread.index().damage().empty());
  }
  const CodexThread torn(object.substr(0, object.size() - 4));
  ASSERT_EQ(torn.index().damage().size(), 1U);
  EXPECT_EQ(torn.index().damage()[0].kind, Damage::Kind::unfinished);
}

/// What Codex does not read as an item of the conversation is not sent, but people see it.
TEST(CodexReader, WordsWithoutAnItemAreShownAndNotSent) {
  const CodexThread thread(
      meta() + record("event_msg", R"({"type":"user_message","message":"only an event"})") +
      record("response_item", R"({"role":"assistant","content":[{"type":"output_text","text":"no type"}]})") +
      says("user", "sent") + record("event_msg", R"({"type":"user_message","message":" sent\n"})") +
      record("event_msg", R"({"type":"error","message":"it broke"})") +
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"bare"}]})"
      "\n");
  EXPECT_EQ(thread.names(), (Words{"user", "assistant", "user", "error", "user"}));
  EXPECT_EQ(thread.text(4), "it broke\n");
  const std::string sent = thread.context(thread.index().leaf());
  for (const char* words : {"only an event", "no type", "it broke", "bare"}) {
    EXPECT_EQ(sent.find(words), std::string::npos) << words;
  }
  EXPECT_NE(sent.find("sent"), std::string::npos);
}

/// The counts of an index that grows line by line are those of one of the whole log.
TEST(CodexReader, CountsGrowWithTheLog) {
  const Words lines = {meta(),
                       says("user", "one"),
                       record("event_msg", R"({"type":"agent_message","message":"an answer"})"),
                       says("assistant", "an answer"),
                       record("future", "{}"),
                       record("event_msg", R"({"type":"agent_message","message":"lost"})"),
                       says("user", "two"),
                       record("future", "{}")};
  std::string bytes;
  std::unique_ptr<LogIndex> grown;
  for (const std::string& line : lines) {
    bytes += line;
    const auto log = log_from_bytes(bytes);
    auto growth = grown ? grown->read_growth(*log) : Result<LogIndex::GrowthPtr>(LogIndex::GrowthPtr());
    ASSERT_TRUE(growth);
    if (*growth) {
      grown->apply(std::move(*growth));
    } else {
      ASSERT_FALSE(grown);
      grown = *codex::format().reader->index(*log, {});
    }
    EXPECT_EQ(grown->not_shown().by_type(), CodexThread(bytes).index().not_shown().by_type()) << line;
  }
  EXPECT_EQ(grown->not_shown().by_type(), (RecordCounts::ByType{{"event_msg agent_message", 1}, {"future", 2}}));
}

TEST(CodexReader, OtherFirstLinesAreNoHeader) {
  EXPECT_FALSE(CodexThread("").index().header().valid);
  EXPECT_FALSE(CodexThread("\xEF\xBB\xBF" + meta()).index().header().valid);
  const CodexThread headless(says("user", "x"));
  EXPECT_NE(headless.index().header().problem, "");
  EXPECT_EQ(headless.index().size(), 1U);
}

TEST(CodexContext, LegacyCompactionKeepsTheUsersMessages) {
  const CodexThread thread(meta() + says("user", "<environment_context>") + says("user", "one") +
                           says("assistant", "1") + record("compacted", R"({"message":"sum"})") + says("user", "two"));
  EXPECT_EQ(thread.context(),
            "{\"messages\":[\n"
            R"({"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},)"
            "\n"
            R"({"type":"message","role":"user","content":[{"type":"input_text","text":"sum"}]},)"
            "\n"
            R"({"type":"message","role":"user","content":[{"type":"input_text","text":"two"}]})"
            "\n]}\n");
}

TEST(CodexTexts, ShowCallsOutputsAndImages) {
  const CodexThread thread(
      meta() + record("response_item", R"({"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]})") +
      record("response_item", R"({"type":"function_call","name":"exec","arguments":"{\"cmd\":\"ls\"}"})") +
      record("response_item", R"({"type":"custom_tool_call","name":"apply_patch","input":"*** Begin"})") +
      record("response_item", R"({"type":"function_call_output","output":[{"type":"input_text","text":"out"}]})") +
      record("response_item", R"({"type":"web_search_call","action":{"query":"q"}})") +
      record("response_item",
             R"({"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"},)"
             R"({"type":"input_text","text":"<image name=x path=y>"},{"type":"input_image",)"
             R"("image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_text","text":"</image>"},)"
             R"({"type":"input_text","text":"See."}]})") +
      record("response_item", R"({"type":"novelty","a":1})"));
  EXPECT_EQ(thread.text(1), "> Hm.\n");
  EXPECT_EQ(thread.text(2), "```\nexec\ncmd: ls\n```\n");
  EXPECT_EQ(thread.text(3), "```\napply_patch\n*** Begin\n```\n");
  EXPECT_EQ(thread.text(4), "```\nout\n```\n");
  EXPECT_EQ(thread.text(5), "```\nweb_search\nquery: q\n```\n");
  EXPECT_EQ(thread.text(6), "[image 1: image/png]\n\nSee.\n");
  EXPECT_NE(thread.text(7).find("novelty"), std::string::npos);
  const auto measure = codex::format().renderer->measure(EntryType::message, thread.raw(6));
  ASSERT_EQ(measure.images.size(), 1U);
  EXPECT_EQ(measure.images[0].extension, "png");
  EXPECT_EQ(measure.images[0].size, 8U);
}

}  // namespace
}  // namespace arborfs::conformance
