// A session of Claude Code, Codex or goat that grows is the same session with more entries: nothing is loaded again.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "core/entry/tree.h"
#include "core/formats/claude/format.h"
#include "core/formats/codex/format.h"
#include "core/formats/goat/format.h"
#include "core/session/catalog.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

class SessionGrowth : public ::testing::Test {
 protected:
  void append(const std::string& file, const std::string& text) const {
    const fs::path path = fs::path(temp.root()) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::app) << text;
  }
  void replace(const std::string& file, const std::string& text) const {
    const fs::path path = fs::path(temp.root()) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::trunc) << text;
  }
  void open(std::shared_ptr<Store> store) {
    catalog = std::make_unique<Catalog>(std::move(store), "/home/dev");
    catalog->rescan();
    ASSERT_EQ(catalog->view()->by_id.size(), 1U);
    session = catalog->view()->by_id.front().second;
  }
  Versions refresh() {
    EXPECT_TRUE(session->refresh(Depth::details));
    return session->versions();
  }
  [[nodiscard]] Ordinal entries() const { return session->read()->index().size(); }
  /// `add` adds one entry, a piece of it at a time.
  template <class Add>
  void expect_growth(const Add& add) {
    const auto before = refresh();
    const Ordinal count = entries();
    for (Ordinal i = 1; i <= 5; ++i) {
      add(static_cast<int>(i));
      const auto now = refresh();
      EXPECT_EQ(entries(), count + i);
      EXPECT_EQ(now.entries, before.entries);
      EXPECT_EQ(now.raw, before.raw) << "the log was loaded anew";
    }
  }

  arborfs::testing::TempStore temp;
  testing::Variable state{"XDG_STATE_HOME", temp.root() + "/state"};
  std::unique_ptr<Catalog> catalog;
  SessionPtr session;
};

TEST_F(SessionGrowth, OfClaudeCode) {
  const std::string file = "claude/projects/-w/11111111-1111-4111-8111-111111111111.jsonl";
  const auto row = [](int number) {
    return R"({"type":"user","uuid":"u)" + std::to_string(number) + R"(","parentUuid":)" +
           (number == 0 ? "null" : "\"u" + std::to_string(number - 1) + "\"") +
           R"(,"sessionId":"11111111-1111-4111-8111-111111111111","cwd":"/w","message":{"role":"user","content":"said"}})";
  };
  append(file, row(0) + "\n");
  open(claude::make_store(temp.root() + "/claude", Disk::real()));
  expect_growth([&](int number) {
    const std::string line = row(number);
    append(file, line.substr(0, 20));
    refresh();
    append(file,
           line.substr(20) + "\n" + R"({"type":"custom-title","customTitle":"T)" + std::to_string(number) + "\"}\n");
  });
  EXPECT_EQ(session->title(), "T5");
}

TEST_F(SessionGrowth, OfCodex) {
  const std::string thread = "01a1ffe5-f4fe-7fb2-82fb-b85d6c526a39";
  const std::string file = "codex/sessions/2026/11/21/rollout-2026-11-21T20-57-02-" + thread + ".jsonl";
  append(file, R"({"timestamp":"2026-11-21T20:57:02.000Z","type":"session_meta","payload":{"id":")" + thread +
                   R"(","cwd":"/w"}})" + "\n");
  open(codex::make_store(temp.root() + "/codex", Disk::real()));
  expect_growth([&](int number) {
    append(file, R"({"timestamp":"2026-11-21T20:57:03.000Z","type":"response_item","payload":{"type":"message",)");
    refresh();
    append(file, R"("id":"m)" + std::to_string(number) + R"(","role":"user","content":[]}})" + "\n");
  });
}

/// Codex reverts a turn by a new segment, whose first line says where the history before it ends.
TEST_F(SessionGrowth, OfCodexByASegmentWhoseFirstLineComesInPieces) {
  const std::string thread = "01a1ffe5-f4fe-7fb2-82fb-b85d6c526a39";
  const std::string day = "codex/sessions/2026/11/21/rollout-2026-11-21T";
  const auto record = [](int ordinal, const std::string& type, const std::string& payload) {
    return R"({"timestamp":"2026-11-21T20:57:02.000Z","ordinal":)" + std::to_string(ordinal) + R"(,"type":")" + type +
           R"(","payload":{)" + payload + "}}\n";
  };
  const auto says = [&](int ordinal) {
    return record(ordinal, "response_item", R"("type":"message","role":"user","content":[])");
  };
  const std::string about = R"("id":")" + thread + R"(","cwd":"/w")";
  const std::string kept = record(0, "session_meta", about) + says(1);
  append(day + "20-57-02-" + thread + ".jsonl", kept + says(2));
  open(codex::make_store(temp.root() + "/codex", Disk::real()));
  const std::string segment = "01a1ffe5-f4fe-7fb2-82fb-b85d6c526a40";
  const std::string second = day + "21-00-00-" + thread + "_" + segment + ".jsonl";
  const std::string head =
      record(2, "session_meta",
             about + R"(,"history_base":{"thread_id":")" + thread +
                 R"(","end_ordinal_exclusive":2,"end_byte_offset":)" + std::to_string(kept.size()) + "}");
  for (const auto& piece : {std::string(), head.substr(0, 30), head.substr(30) + says(3)}) {
    append(second, piece);
    catalog->rescan();
    refresh();
  }
  const LogIndex& index = session->read()->index();
  std::vector<std::string> path;
  for (const Ordinal ordinal : path_to(index, index.leaf())) {
    path.push_back(index.id(ordinal).text);
  }
  EXPECT_EQ(path, (std::vector{thread + ":1", segment + ":3"}));
}

/// goat changes its metadata with each message.
TEST_F(SessionGrowth, OfGoat) {
  const auto describe = [&](int number) {
    replace("goat/s1/metadata.json", R"({"id":"s1","cwd":"/w","leaf_title":"T)" + std::to_string(number) + "\"}");
  };
  const auto message = [](int number) {
    return R"({"uuid":"u)" + std::to_string(number) + R"(","message":{"role":"user","content":")" +
           std::string(4000, 'x') + "\"}}\n";
  };
  describe(0);
  append("goat/s1/messages.jsonl", message(-1) + message(-2) + message(-3) + message(0));
  open(goat::make_store(temp.root() + "/goat", Disk::real()));
  expect_growth([&](int number) {
    append("goat/s1/messages.jsonl", message(number));
    refresh();
    describe(number);
  });
  EXPECT_EQ(session->title(), "T5");
}

TEST_F(SessionGrowth, OfGoatReadsOldMetadataOnce) {
  const auto describe = [&](const std::string& title, std::chrono::minutes age) {
    replace("goat/s1/metadata.json", R"({"id":"s1","cwd":"/w","leaf_title":")" + title + "\"}");
    fs::last_write_time(fs::path(temp.root()) / "goat/s1/metadata.json", fs::file_time_type::clock::now() - age);
  };
  const auto add = [&](const std::string& id) {
    append("goat/s1/messages.jsonl", R"({"uuid":")" + id +
                                         R"(","message":{"role":"user","content":"x"}})"
                                         "\n");
  };
  describe("Before", std::chrono::minutes(2));
  add("u1");
  open(goat::make_store(temp.root() + "/goat", Disk::real()));
  const auto before = refresh();
  const auto log = session->read()->log();
  for (const char* const id : {"u2", "u3"}) {
    add(id);
    refresh();
    EXPECT_EQ(session->read()->log(), log);
  }
  EXPECT_EQ(entries(), 3U);
  describe("Later ", std::chrono::minutes(1));
  add("u4");
  EXPECT_EQ(refresh().entries, before.entries);
  EXPECT_EQ(entries(), 4U);
  EXPECT_EQ(session->head().header.title, "Later ");
}

/// A program empties metadata.json and writes it within a tick of the clock, and the session is read in between.
TEST_F(SessionGrowth, OfMetadataOfGoatThatHasTheTimeOfAnEarlierState) {
  const auto now = fs::file_time_type::clock::now() + std::chrono::seconds(1);  // young for the whole test
  const auto describe = [&](const std::string& text) {
    replace("goat/s1/metadata.json", text);
    fs::last_write_time(fs::path(temp.root()) / "goat/s1/metadata.json", now);
  };
  append("goat/s1/messages.jsonl", R"({"uuid":"u1","message":{"role":"user","content":"x"}})"
                                   "\n");
  describe(R"({"id":"s1","cwd":"/w","leaf_title":"Before"})");
  open(goat::make_store(temp.root() + "/goat", Disk::real()));
  const auto before = refresh();
  for (const char* const text : {"", R"({"id":"s1","cwd":"/w","leaf_title":"After"})"}) {
    describe(text);
    EXPECT_EQ(refresh().raw, before.raw);
  }
  EXPECT_EQ(session->title(), "After");
}

}  // namespace
}  // namespace arborfs
