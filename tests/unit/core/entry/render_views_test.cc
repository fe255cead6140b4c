#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/entry/text.h"
#include "core/entry/text_sizes.h"
#include "core/entry/views.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"
#include "core/views/session_views.h"
#include "tests/support/paths.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader =
    R"({"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/srv/pi"})"
    "\n";

void expect_golden(const std::string& name, const std::string& got) {
  const fs::path path = fs::path(arborfs::tests::kTestData) / "golden" / name;
  if (std::getenv("ARBORFS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << got;
  }
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(got, std::string(std::istreambuf_iterator<char>(file), {})) << name;
}

struct Session {
  std::shared_ptr<const LogSource> log;
  std::unique_ptr<LogIndex> index;
};
Session session_of(const std::string& lines) {
  Session session;
  session.log = log_from_bytes(kHeader + lines);
  auto index = omp::reader().index(*session.log, {});
  EXPECT_TRUE(index.has_value());
  session.index = std::move(index).value();
  return session;
}

std::string message(const std::string& id, const std::string& parent, const std::string& role,
                    const std::string& text) {
  static int second = 0;
  second = (second + 1) % 60;
  const std::string time = "2026-02-16T10:20:" + std::string(second < 10 ? "0" : "") + std::to_string(second) + ".000Z";
  return R"({"type":"message","id":")" + id + R"(","parentId":)" + (parent.empty() ? "null" : "\"" + parent + "\"") +
         R"(,"timestamp":")" + time + R"(","message":{"role":")" + role + R"(","content":")" + text + "\"}}\n";
}

std::string label(const std::string& id, const std::string& parent, const std::string& target,
                  const std::string& text) {
  return R"({"type":"label","id":")" + id + R"(","parentId":")" + parent + R"(","targetId":")" + target +
         R"(","label":")" + text + "\"}\n";
}

FirstWords words_in(const Session& session) {
  return [&session](Ordinal ordinal) -> std::string {
    const Entry& entry = session.index->entry(ordinal);
    const auto raw = session.log->read(entry.offset, entry.length);
    return raw ? omp::first_words(entry.type, *raw, 60) : "";
  };
}

std::string no_words(Ordinal /*ordinal*/) {
  return "";
}

std::string transcript(const Session& session, const std::vector<Ordinal>& path) {
  const auto text_size = [&session](Ordinal ordinal) {
    const Entry& entry = session.index->entry(ordinal);
    const auto text = read_text(omp::renderer(), *session.log, entry.type, entry.offset, entry.length);
    return text ? std::uint64_t{text->size()} : 0;
  };
  std::vector<PeopleStep> steps;
  for (const Ordinal ordinal : path) {
    steps.push_back({ordinal});
  }
  const TranscriptParts parts{[](std::string_view) { return true; }, text_size};
  const auto content = build_transcript(transcript_steps(*session.index, steps, parts), session.log, omp::renderer());
  auto bytes = content->read_all();
  EXPECT_TRUE(bytes.has_value());
  return bytes ? std::move(bytes).value() : "";
}

TEST(Transcript, HasAHeadingAndATextPerEntry) {
  const arborfs::testing::Variable zone("TZ", "Europe/Berlin");
  const Session session = session_of(
      R"({"type":"message","id":"a1","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user","content":"Hi"}})"
      "\n"
      R"({"type":"message","id":"a\u001b2","parentId":"a1","timestamp":"no time","message":{"role":"assistant","content":[{"type":"text","text":"Hello\nthere"}]}})"
      "\n42\n");
  EXPECT_EQ(transcript(session, {1, 2, 3}),
            "## user · 2026-02-16 11:20:30 +0100 · a1\n\nHi\n\n"
            "## assistant · a\\^\\[2\n\nHello\nthere\n\n"
            "## value\n\n42\n\n");
}

TEST(Transcript, OnlyGrowsWithThePath) {
  std::string lines;
  std::vector<Ordinal> path;
  std::string before;
  for (Ordinal ordinal = 1; ordinal <= 20; ++ordinal) {
    lines += message(std::to_string(ordinal), ordinal > 1 ? std::to_string(ordinal - 1) : "", "user", "text");
    path.push_back(ordinal);
    const std::string now = transcript(session_of(lines), path);
    // message() stamps each line once, so earlier headings stay as they were
    EXPECT_EQ(now.substr(0, before.size()), before);
    before = now;
  }
}

TEST(DrawTree, MatchesTheGoldenFile) {
  std::string lines = message("a0000001", "", "user", "Fix the bug");
  lines +=
      message("a0000002", "a0000001", "assistant", "Looking at the code first, and then at all the tests there are");
  lines += message("a0000003", "a0000002", "toolResult", "one\\ntwo");
  lines += message("a0000004", "a0000002", "user", "No, \\u001b[31mstop");
  lines += message("a0000005", "a0000004", "assistant", "Stopped");
  lines += message("a0000006", "a0000005", "user", "one way");
  lines += message("a0000007", "a0000005", "user", "another way");
  lines += message("a0000008", "a0000006", "assistant", "done");
  lines += message("a0000009", "a0000003", "assistant", "that is it");
  lines += message("b0000001", "nobody", "user", "an orphan");
  lines += message("c0000001", "c0000002", "user", "round");
  lines += message("c0000002", "c0000001", "user", "and round");
  lines += label("a000000a", "a0000009", "a0000003", "check\\u202epoint");
  const Session session = session_of(lines);
  expect_golden("render_tree.txt", draw_tree(*session.index, session.index->leaf(), words_in(session)));
}

TEST(DrawTree, LongChainStaysInOneColumn) {
  constexpr int kLength = 100'000;
  std::string lines;
  for (int i = 1; i <= kLength; ++i) {
    lines += R"({"type":"custom","id":")" + std::to_string(i) + R"(","parentId":")" + std::to_string(i - 1) + "\"}\n";
  }
  const Session session = session_of(lines);
  const std::string text = draw_tree(*session.index, session.index->leaf(), no_words);
  EXPECT_EQ(text.substr(0, 18), "000001 custom 1\n00");
  EXPECT_NE(text.find("\n099999 custom 99999\n100000 custom 100000  <- leaf\n"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kLength);
}

TEST(DrawTree, WideTreeIsDrawn) {
  std::string lines = R"({"type":"custom_message","id":"root","parentId":null})"
                      "\n";
  for (int i = 0; i < 50'000; ++i) {
    lines += R"({"type":"custom_message","id":"c)" + std::to_string(i) + R"(","parentId":"root"})" + "\n";
  }
  const Session session = session_of(lines);
  const std::string text = draw_tree(*session.index, kNoEntry, no_words);
  EXPECT_NE(text.find("000001 custom_message root\n├─ 000002 custom_message c0\n├─ "), std::string::npos);
  EXPECT_NE(text.find("\n└─ 050001 custom_message c49999\n"), std::string::npos);
}

TEST(DrawTree, ManyBranchPointsKeepLinesShort) {
  constexpr int kForks = 20'000;
  std::string lines;
  for (int i = 1; i <= kForks; ++i) {
    const std::string parent = i == 1 ? "null" : "\"" + std::to_string(i - 1) + "\"";
    lines += R"({"type":"custom_message","id":"side)" + std::to_string(i) + R"(","parentId":)" + parent + "}\n";
    lines += R"({"type":"custom_message","id":")" + std::to_string(i) + R"(","parentId":)" + parent + "}\n";
  }
  const Session session = session_of(lines);
  const std::string text = draw_tree(*session.index, kNoEntry, no_words);
  EXPECT_LT(text.size(), std::size_t{2} * kForks * 300);
  EXPECT_NE(text.find("(+1) ├─ "), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 * kForks);
}

TEST(DrawTree, EmptyLogGivesNoLines) {
  EXPECT_EQ(draw_tree(*session_of("").index, kNoEntry, no_words), "");
}

const SessionOrigin kOmp{"omp", "omp-jsonl", true};
const SessionOrigin kHeron{"heron", "heron-jsonl", false};

TEST(SessionJson, IsTheHeaderWithAgentAndFormat) {
  const std::string text = session_json(session_of("").index->header(), kOmp);
  EXPECT_EQ(text,
            "{\n  \"type\": \"session\",\n  \"version\": 3,\n  \"id\": \"s\",\n"
            "  \"timestamp\": \"2026-02-16T10:20:30.000Z\",\n  \"cwd\": \"/srv/pi\",\n"
            "  \"agent\": \"omp\",\n  \"format\": \"omp-jsonl\"\n}\n");
  EXPECT_EQ(session_json(Header(), kOmp), "{\n  \"agent\": \"omp\",\n  \"format\": \"omp-jsonl\"\n}\n");
}

TEST(SessionJson, AgentAndFormatReplaceMembersOfTheHeader) {
  Header header;
  header.json = R"({"agent":"x","id":"s","format":[1]})";
  EXPECT_EQ(session_json(header, kOmp), "{\n  \"id\": \"s\",\n  \"agent\": \"omp\",\n  \"format\": \"omp-jsonl\"\n}\n");
}

TEST(SessionJson, OfOtherAgentsHasWhatIsKnownAndTheNativeHeader) {
  Header header;
  header.id = "h1";
  header.title = "A title";
  header.json = R"({"sessionId":"h1","id":5})";
  EXPECT_EQ(session_json(header, kHeron),
            "{\n  \"id\": \"h1\",\n  \"title\": \"A title\",\n  \"agent\": \"heron\",\n"
            "  \"format\": \"heron-jsonl\",\n  \"native\": {\n    \"sessionId\": \"h1\",\n    \"id\": 5\n  }\n}\n");
  EXPECT_EQ(session_json(Header(), kHeron), "{\n  \"agent\": \"heron\",\n  \"format\": \"heron-jsonl\"\n}\n");
}

TEST(StatusJson, SessionMatchesTheGoldenFile) {
  SessionStatus status;
  status.state = "maybe";
  status.reasons = {"an agent runs in its working directory"};
  status.writable = false;
  status.read_only_reason = "the log is of a \"newer\" version";
  status.dialect = "18";
  status.moved_leaf = "arborfs moved the leaf to a1b2c3d4; the agent continues at root until the next append";
  status.bytes = 12345678901;
  status.entries = 42;
  status.branches = 3;
  status.damage = {{1234, 56, Damage::Kind::fused, false}, {99999, 7, Damage::Kind::unfinished, true}};
  status.not_shown.add("event_msg future", 2);
  status.whole_records_in_damage = {"a1b2c3d4"};
  status.erased_entries = {"b2c3d4e5"};
  status.erased_file = "/home/sam/.local/state/arborfs/erased/s.jsonl";
  status.dangling_labels = {"x\x1B[2J"};
  const std::string text = session_status_json(status);
  json::Document parsed;
  EXPECT_TRUE(json::parse(text, parsed));
  expect_golden("render_session_status.json", text);
}

TEST(StatusJson, MountMatchesTheGoldenFile) {
  MountStatus status;
  status.version = "0.1.0";
  status.agent_dir = "/home/dev/.omp/agent";
  status.store_present = true;
  status.sessions = 7;
  status.watching = "inotify";
  status.stores = {{"omp", "/home/dev/.omp/agent", 7, "", {{"a FIFO", 2}}},
                   {"pi", "/home/dev/.pi/agent", 0, "there is no folder /home/dev/.pi/agent/sessions", {}}};
  const std::string text = mount_status_json(status);
  json::Document parsed;
  EXPECT_TRUE(json::parse(text, parsed));
  expect_golden("render_mount_status.json", text);
}

TEST(DamageName, IsOffsetAndKind) {
  EXPECT_EQ(damage_name({1234, 5, Damage::Kind::fused, false}), "000000001234-fused");
  EXPECT_EQ(damage_name({1234567890123456, 5, Damage::Kind::nul, false}), "1234567890123456-nul");
}

TEST(WholeRecords, AreFoundInDamage) {
  const std::string record = R"({"type":"message","id":"a1","parentId":null,"message":{"content":"}{\"\\"}})";
  EXPECT_EQ(whole_records(record), std::vector<std::string>{"a1"});
  EXPECT_EQ(whole_records(record + R"({"type":"label","id":"b2"} junk)" + record),
            (std::vector<std::string>{"a1", "b2", "a1"}));
  EXPECT_EQ(whole_records(R"({"a":"xx)" + record), std::vector<std::string>{"a1"});
  EXPECT_EQ(whole_records(R"({"type":"message","id":)" + ("\n" + record)), std::vector<std::string>{"a1"});
  EXPECT_EQ(whole_records(std::string(100, '\0') + record), std::vector<std::string>{"a1"});
}

TEST(WholeRecords, AreNotFoundInsideATornEntry) {
  const std::string torn =
      R"({"type":"message","id":"a1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1"}, )"
      R"({"type":"toolCall","id":"c2","arguments":{"type":"x","id":"y"}}],"usage":{"inp)";
  EXPECT_EQ(whole_records(torn), std::vector<std::string>());
  EXPECT_EQ(whole_records(""), std::vector<std::string>());
  EXPECT_EQ(whole_records(R"({"type":5,"id":"x"}{"type":"x","id":5}[{}])"), std::vector<std::string>());
}

TEST(WholeRecords, AreFoundInLinearTime) {
  std::string nested;
  while (nested.size() < (std::size_t{1} << 20U)) {
    nested += R"({"a":)";
  }
  EXPECT_TRUE(whole_records(nested).empty());
  EXPECT_TRUE(whole_records(std::string(std::size_t{64} << 20U, '{')).empty());
}

TEST(Readme, DescribesTheMount) {
  for (const MountKind kind : {MountKind::writable, MountKind::read_only, MountKind::redacted}) {
    const std::string text = mount_readme("1.2.3", kind);
    EXPECT_TRUE(text.starts_with("# arborfs 1.2.3\n"));
    for (const char* name :
         {"projects/",    "by-id/",      "by-agent/",    "recent/", "search/",      "terminals/",    "blobs/",
          "session.json", "title",       "raw.jsonl",    "leaf",    "context.json", "transcript.md", "tree.txt",
          "usage.json",   "status.json", "entries/",     "text/",   "images/",      "branches/",     "labels/",
          "damage/",      "artifacts/",  "checkpoints/", "native/", "children/"}) {
      EXPECT_NE(text.find(name), std::string::npos) << name;
    }
    for (const ViewRow& row : session_views()) {
      EXPECT_TRUE(row.is_of != nullptr || text.find("\n    " + std::string(row.name) + " ") != std::string::npos)
          << row.name << " is not in the list of a session's files in core/entry/status_text.cc";
    }
    const bool is_read_only = kind != MountKind::writable;
    EXPECT_EQ(text.find("read-only") != std::string::npos, is_read_only);
    EXPECT_EQ(text.find("> append") != std::string::npos, !is_read_only);
    EXPECT_EQ(text.find("[redacted:") != std::string::npos, kind == MountKind::redacted);
    EXPECT_EQ(text.back(), '\n');
  }
}

}  // namespace
}  // namespace arborfs
