// OpenCode's stores read by OpenCode's rules: each EXPECTED.json in tests/opencode holds the results of an independent
// reader for the store next to it.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "core/formats/opencode/format.h"
#include "core/formats/registry.h"
#include "tests/support/opencode_session.h"
#include "tests/support/sqlite_program.h"

namespace arborfs::conformance {
namespace {

const fs::path& kStores = opencode_stores();

/// "tool:bash:completed", or the type of another part.
std::string kind_of(const json::Value& part) {
  const std::string type = word(part, "type");
  return type == "tool" ? "tool:" + word(part, "tool") + ":" + word(*json::member(part, "state"), "status") : type;
}

void expect_message(const OpenCodeSession& session, Ordinal ordinal, const json::Value& wanted) {
  constexpr std::size_t kTold = 80;
  json::Document entry;
  ASSERT_TRUE(json::parse(session.raw(ordinal), entry));
  const json::Value& info = *json::member(entry, "info");
  EXPECT_EQ(word(info, "id"), word(wanted, "id"));
  EXPECT_EQ(session.index().id(ordinal).text, word(wanted, "id"));
  EXPECT_EQ(word(info, "role"), word(wanted, "role"));
  EXPECT_EQ(word(info, "sessionID"), session.index().header().id);
  EXPECT_EQ(session.index().parent(ordinal), ordinal - 1);
  EXPECT_EQ(session.index().entry(ordinal).timestamp_ms,
            static_cast<std::int64_t>(json::member(*json::member(info, "time"), "created")->GetDouble()));
  Words kinds;
  std::string text;
  for (const json::Value& part : json::member(entry, "parts")->GetArray()) {
    kinds.push_back(kind_of(part));
    EXPECT_EQ(word(part, "messageID"), word(wanted, "id"));
    text += kinds.back() == "text" ? word(part, "text") : "";
  }
  EXPECT_EQ(kinds, words_in(wanted, "parts"));
  EXPECT_EQ(text.substr(0, kTold), word(wanted, "text"));
  const bool is_compaction = !kinds.empty() && kinds.front() == "compaction";
  EXPECT_EQ(session.text(ordinal).find(is_compaction ? "[compaction]" : text) != std::string::npos, true);
}

void expect_own_data(const OpenCodeSession& session, const json::Value& wanted) {
  const Header& header = session.index().header();
  EXPECT_TRUE(header.valid);
  EXPECT_EQ(header.id, word(wanted, "id"));
  EXPECT_EQ(header.title, word(wanted, "title"));
  EXPECT_EQ(header.cwd, word(wanted, "cwd"));
  EXPECT_EQ(header.parent_session, word(wanted, "parentSession"));
  EXPECT_EQ(header.started_by, word(wanted, "parentSession"));
  EXPECT_NE(header.timestamp, "");
  const json::Value& info = *json::member(session.header(), "info");
  const json::Value* revert = json::member(info, "revert");
  EXPECT_EQ(revert == nullptr ? "" : word(*revert, "messageID"), word(wanted, "revert"));
  EXPECT_EQ(json::member(*json::member(info, "time"), "archived") == nullptr,
            json::member(wanted, "archived")->IsNull());
  Words todos;
  if (const json::Value* list = json::member(session.header(), "todo")) {
    for (const json::Value& todo : list->GetArray()) {
      todos.push_back(word(todo, "content") + "|" + word(todo, "status") + "|" + word(todo, "priority"));
    }
  }
  Words wanted_todos;
  for (const json::Value& todo : json::member(wanted, "todos")->GetArray()) {
    wanted_todos.push_back(std::string(json::as_string(todo[0])) + "|" + std::string(json::as_string(todo[1])) + "|" +
                           std::string(json::as_string(todo[2])));
  }
  EXPECT_EQ(todos, wanted_todos);
  Words files;
  if (const json::Value* diff = json::member(session.header(), "diff")) {
    for (const json::Value& file : diff->GetArray()) {
      files.push_back(word(file, "file"));
    }
  }
  EXPECT_EQ(files, words_in(wanted, "diffFiles"));
}

/// `context` of the expected values is that without a pending revert.
void expect_session(const OpenCodeSession& session, const json::Value& wanted) {
  const auto messages = json::member(wanted, "messages")->GetArray();
  ASSERT_EQ(session.index().size(), messages.Size());
  EXPECT_TRUE(session.index().damage().empty());
  expect_own_data(session, wanted);
  const std::string reverted = word(wanted, "revert");
  Ordinal leaf = session.index().size();
  for (Ordinal ordinal = 1; ordinal <= session.index().size(); ++ordinal) {
    expect_message(session, ordinal, messages[ordinal - 1]);
    leaf = word(messages[ordinal - 1], "id") == reverted ? ordinal - 1 : leaf;
  }
  EXPECT_EQ(session.index().leaf(), leaf);
  EXPECT_EQ(session.context_ids(session.index().size()), words_in(wanted, "context"));
  EXPECT_EQ(session.context_ids(leaf).size() <= leaf, true);
}

/// Titles that differ from the expected ones, by session.
using Titles = std::map<std::string, std::string>;

void expect_store(const fs::path& place, const fs::path& expected, const Titles& titles = {}) {
  const auto store = opencode::make_store(place.string(), false, Disk::real());
  json::Document all;
  ASSERT_TRUE(json::parse(file_text(expected), all));
  std::map<std::string, json::Value*> wanted;
  for (json::Value& session : json::member(static_cast<json::Value&>(all), "sessions")->GetArray()) {
    if (const auto title = titles.find(word(session, "id")); title != titles.end()) {
      json::set(session, "title", json::make_string(title->second, all), all);
    }
    wanted[word(session, "id")] = &session;
  }
  const auto folders = store->folders();
  ASSERT_TRUE(folders) << folders.error().message;
  std::size_t count = 0;
  for (const std::string& folder : *folders) {
    const auto logs = store->logs(folder, [](const LogPlace&) { return true; });
    ASSERT_TRUE(logs) << logs.error().message;
    for (const FoundLog& log : *logs) {
      SCOPED_TRACE(log.place.file);
      ASSERT_TRUE(wanted.contains(std::string(log.place.stem())));
      ASSERT_TRUE(log.head);
      const OpenCodeSession session(*store, log.place);
      EXPECT_EQ(log.head->header.json, session.index().header().json);
      EXPECT_EQ(*store->stat(log.place), session.log().opened());
      EXPECT_EQ(session.log().opened().size, *session.log().size());
      expect_session(session, *wanted[std::string(log.place.stem())]);
      ++count;
    }
  }
  EXPECT_EQ(count, wanted.size());
}

TEST_F(OpenCodeSamples, FirstDatabaseHasTheExpectedValues) {
  expect_store(copy("first-sqlite-1.2.1"), kStores / "first-sqlite-1.2.1/EXPECTED.json");
}

TEST_F(OpenCodeSamples, FreshDatabaseHasTheExpectedValues) {
  expect_store(copy("fresh-1.18.33"), kStores / "fresh-1.18.33/EXPECTED.json");
}

TEST_F(OpenCodeSamples, MigratedDatabaseHasTheExpectedValues) {
  expect_store(copy("migrated-1.18.33"), kStores / "migrated-1.18.33/EXPECTED.json");
}

/// Runs statements, and gives the files that the database then consists of to `use`.
template <class Use>
void with_open_database(const fs::path& path, const std::string& sql, const Use& use) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, ("PRAGMA journal_mode=WAL;" + sql).c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  use();
  sqlite3_close(database);
}

TEST_F(OpenCodeSamples, TitleThatIsOnlyInTheWalCounts) {
  const std::string id = "ses_e002dd988ffe5vw4jTn8z5fNqS";
  const fs::path source = copy("fresh-1.18.33");
  const fs::path crashed = fs::path(temp_.root()) / "crashed";
  fs::create_directories(crashed);
  with_open_database(source / "opencode.db",
                     "UPDATE session SET title = 'Title that exists only in the WAL' WHERE id = '" + id + "'", [&] {
                       fs::copy_file(source / "opencode.db", crashed / "opencode.db");
                       fs::copy_file(source / "opencode.db-wal", crashed / "opencode.db-wal");
                     });
  expect_store(crashed, kStores / "fresh-1.18.33/EXPECTED.json", {{id, "Title that exists only in the WAL"}});
}

/// A writer that is killed between the header of the -wal and its first page leaves these files.
TEST_F(OpenCodeSamples, AWalThatIsOnlyAHeaderBlocksNoSession) {
  const fs::path source = copy("fresh-1.18.33");
  const fs::path killed = fs::path(temp_.root()) / "killed";
  fs::create_directories(killed);
  with_open_database(source / "opencode.db", "UPDATE session SET title = 'lost'", [&] {
    for (const char* name : {"opencode.db", "opencode.db-wal", "opencode.db-shm"}) {
      fs::copy_file(source / name, killed / name);
    }
  });
  fs::resize_file(killed / "opencode.db-wal", 32);
  const auto start = std::chrono::steady_clock::now();
  const auto store = opencode::make_store(killed.string(), false, Disk::real());
  EXPECT_TRUE(store->logs("opencode.db", {}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  expect_store(killed, kStores / "fresh-1.18.33/EXPECTED.json");
  EXPECT_EQ(fs::file_size(killed / "opencode.db-wal"), 32U);
}

TEST_F(OpenCodeSamples, FilesHaveTheExpectedValues) {
  expect_store(copy("files"), kStores / "files/EXPECTED.json");
}

TEST_F(OpenCodeSamples, DatabaseCountsWhereThereAreFilesToo) {
  const fs::path folder = copy("files");
  fs::copy_file(kStores / "fresh-1.18.33/opencode.db", folder / "opencode.db");
  expect_store(folder, kStores / "fresh-1.18.33/EXPECTED.json");
}

/// The texts that give the places of a session's messages are read once: their bytes are kept for the next reader.
TEST_F(OpenCodeSamples, OpeningASessionReadsItForTheFirstReader) {
  for (const char* const name : {"fresh-1.18.33", "files"}) {
    SCOPED_TRACE(name);
    const fs::path place = copy(name);
    const auto store = opencode::make_store(place.string(), false, Disk::real());
    const auto logs = store->logs(store->folders()->front(), {});
    ASSERT_TRUE(logs && !logs->empty());
    const auto log = store->open(logs->front().place);
    ASSERT_TRUE(log);
    const auto bytes = store->open(logs->front().place).value()->read(0, (*log)->opened().size);
    fs::remove_all(place);
    EXPECT_EQ(*(*log)->read(0, (*log)->opened().size), *bytes);
  }
}

// The tables of a second model of sessions (opencode/FORMAT.md B5).
TEST_F(OpenCodeSamples, RowsOfTheNextModelAreCounted) {
  const fs::path folder = copy("fresh-1.18.33");
  std::string id;
  {
    arborfs::testing::SqliteProgram program((folder / "opencode.db").string());
    id = program.run("SELECT id FROM session ORDER BY id LIMIT 1");
    id.pop_back();
    const std::string of_message = "(SELECT id FROM message WHERE session_id = '" + id + "' LIMIT 1)";
    program.run("INSERT INTO session_message VALUES(" + of_message + ",'" + id + "','user',1,1,1,'{}')," + "('new1','" +
                id + "','user',2,1,1,'{}'),('new2','" + id + "','user',3,1,1,'{}')," + "('new3','" + id +
                "','assistant',4,1,1,'{}')");
    program.run("INSERT INTO session_input VALUES('in1','" + id + "','words','next',1,NULL,1)," + "('in2','" + id +
                "','words','next',2,5,1)");
  }
  auto stores = open_stores({{"opencode", folder.string(), false}}, Access::look);
  ASSERT_TRUE(stores);
  const OpenCodeSession session(**stores->begin(), {"opencode.db", id + ".json"});
  EXPECT_EQ(
      session.index().not_shown().by_type(),
      (RecordCounts::ByType{{"session_input", 1}, {"session_message assistant", 1}, {"session_message user", 2}}));
  EXPECT_TRUE(session.index().damage().empty());
}

}  // namespace
}  // namespace arborfs::conformance
