// Writes by arborfs to OpenCode's database, by the rules of opencode/FORMAT.md G.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <sstream>
#include <string>
#include <thread>

#include "core/base/clock.h"
#include "core/formats/opencode/writer.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "tests/support/opencode_database.h"
#include "tests/support/opencode_session.h"

namespace arborfs {
namespace {

using conformance::OpenCodeSession;
using conformance::Program;
using conformance::WritesToOpenCode;

/// One sample for each schema of the database.
class WritesToBothSchemas : public WritesToOpenCode, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Schemas, WritesToBothSchemas, ::testing::Values("first-sqlite-1.2.1", "fresh-1.18.33"));

TEST_P(WritesToBothSchemas, AMessageOfTheUserIsTheEndOfTheContext) {
  open(GetParam(), "Greeting script (renamed)");
  const OpenCodeSession before(session->store(), session->place());
  const auto last = before.index().id(before.index().leaf()).text;
  std::vector<std::string> messages;
  for (Ordinal entry = 1; entry <= before.index().size(); ++entry) {
    messages.push_back(before.raw(entry));
  }
  const std::int64_t started = now_ms();
  const auto written = writer->append_text(session, {"go on,\n\"wörld\"\n", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, last);
  EXPECT_EQ(session->read()->index().size(), before.index().size() + 1);  // visible at once

  const OpenCodeSession after(session->store(), session->place());
  ASSERT_EQ(after.index().size(), before.index().size() + 1);
  for (Ordinal entry = 1; entry <= before.index().size(); ++entry) {
    EXPECT_EQ(after.raw(entry), messages.at(entry - 1));
  }
  const Ordinal leaf = after.index().leaf();
  EXPECT_EQ(after.index().id(leaf).text, written->id);
  EXPECT_EQ(after.context_ids(leaf).back(), written->id);
  EXPECT_EQ(after.text(leaf).find("go on,\n\"wörld\"\n") != std::string::npos, true) << after.text(leaf);
  EXPECT_EQ(
      Program(database).run("SELECT json_extract(data, '$.text') FROM part WHERE message_id = '" + written->id + "'"),
      "go on,\n\"wörld\"\n")
      << "without its last line feed; the other one ends the row";
  json::Document entry;
  ASSERT_TRUE(json::parse(after.raw(leaf), entry));
  const json::Value& info = *json::member(entry, "info");
  EXPECT_EQ(conformance::word(info, "agent"), "build");
  EXPECT_EQ(json::stringify(*json::member(info, "model")), R"({"providerID":"mock","modelID":"mock-1"})");
  EXPECT_GE(json::member(*json::member(info, "time"), "created")->GetDouble(), static_cast<double>(started));
  EXPECT_GE(std::stoll(Program(database).run("SELECT time_updated FROM session WHERE id = '" + id() + "'")), started);
  expect_sound();
}

TEST_P(WritesToBothSchemas, ATitleChangesNothingElse) {
  open(GetParam(), "Greeting script (renamed)");
  const auto title = writer->set_title(session, " A \x01 new\ntitle ");
  ASSERT_TRUE(title) << title.error().message;
  EXPECT_EQ(*title, "A   new title");
  EXPECT_EQ(session->title(), "A   new title");
  EXPECT_EQ(Program(database).run("SELECT count(*) FROM session WHERE title = 'A   new title'"), "1\n");
  EXPECT_EQ(*writer->set_title(session, "made by a program", false, "auto"), "A   new title");
  expect_sound();
}

TEST_F(WritesToOpenCode, IdsAreMadeOfTheTimeAndComeAfterTheLastMessage) {
  open("fresh-1.18.33", "Greeting script (renamed)");
  const std::int64_t later = now_ms() + 1'000'000;
  Program(database).run("UPDATE message SET time_created = " + std::to_string(later) + " WHERE id = (SELECT id FROM " +
                        "message WHERE session_id = '" + id() + "' ORDER BY time_created DESC LIMIT 1)");
  const auto written = writer->append_text(session, {"one", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>((later + 1) * 4096 + 1));
  EXPECT_EQ(written->id.substr(0, 16), "msg_" + std::string(digits + 4));
  EXPECT_EQ(written->id.size(), 30U);
}

TEST_F(WritesToOpenCode, NothingIsAppendedWhereMessagesAreUndone) {
  open("fresh-1.18.33", "Add greeting to hello.py");
  EXPECT_EQ(writer->append_text(session, {"more", false, ""}).error().code, Errc::invalid_argument);
  EXPECT_TRUE(writer->set_title(session, "still takes a title"));
}

TEST_F(WritesToOpenCode, NothingIsAppendedToAnAnswerThatIsBeingWritten) {
  open("fresh-1.18.33", "Greeting script (renamed)");
  const std::string now = std::to_string(now_ms());
  const std::string abandoned = std::to_string(now_ms() - std::int64_t{3600} * 1000);
  Program(database).run("INSERT INTO message(id, session_id, time_created, time_updated, data) VALUES('msg_x', '" +
                        id() + "', " + now + ", " + now + ", '{\"role\":\"assistant\",\"time\":{}}')");
  EXPECT_EQ(writer->append_text(session, {"more", false, ""}).error().code, Errc::busy);
  EXPECT_EQ(Program(database).run("SELECT count(*) FROM part WHERE data LIKE '%more%'"), "0\n");
  Program(database).run("UPDATE message SET time_updated = " + abandoned + " WHERE id = 'msg_x'");
  EXPECT_TRUE(writer->append_text(session, {"more", false, ""}));
}

TEST_F(WritesToOpenCode, WhatOpenCodeHasNoMessageForIsRefused) {
  open("fresh-1.18.33", "Greeting script (renamed)");
  EXPECT_EQ(writer->append_text(session, {R"({"role":"user"})", true, ""}).error().code, Errc::not_permitted);
  EXPECT_FALSE(writer->check_json(session, "{}"));
  EXPECT_EQ(writer->append_text(session, {"\xFF", false, ""}).error().code, Errc::not_utf8);
  EXPECT_EQ(writer->append_text(session, {"\n", false, ""}).error().code, Errc::invalid_argument);
  EXPECT_EQ(writer->append_text(session, {"", false, ""}).error().code, Errc::invalid_argument);
  EXPECT_EQ(writer->append_text(session, {"x", false, "msg_other"}).error().code, Errc::stale);
  EXPECT_EQ(writer->set_title(session, " \n").error().code, Errc::invalid_argument);
  Program(database).run("PRAGMA foreign_keys=ON; DELETE FROM session WHERE id = '" + id() + "'");
  EXPECT_EQ(writer->append_text(session, {"x", false, ""}).error().code, Errc::not_found);
  EXPECT_EQ(writer->set_title(session, "x").error().code, Errc::not_found);
}

TEST_F(WritesToOpenCode, WritersTakeTurnsWithAProgram) {
  WriteSettings settings;
  settings.durability = Durability::none;
  open("fresh-1.18.33", "Greeting script (renamed)", settings);
  const auto before = std::stoi(Program(database).run("SELECT count(*) FROM message"));
  constexpr int kWriters = 3;
  constexpr int kEach = 5;
  const pid_t other = ::fork();
  if (other == 0) {
    Program program(database);
    program.run("PRAGMA busy_timeout=5000");
    for (int j = 0; j < kEach; ++j) {
      program.run("BEGIN IMMEDIATE; UPDATE project SET time_updated = time_updated + 1; COMMIT");
    }
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        const auto done = writer->append_text(session, {"text", false, ""});
        EXPECT_TRUE(done) << done.error().message;
      }
    });
  }
  for (std::thread& one : writers) {
    one.join();
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  Program program(database);
  EXPECT_EQ(std::stoi(program.run("SELECT count(*) FROM message")), before + kWriters * kEach);
  EXPECT_EQ(program.run("SELECT count(*) FROM message WHERE time_created IN (SELECT time_created FROM message "
                        "GROUP BY session_id, time_created HAVING count(*) > 1) AND session_id = '" +
                        id() + "'"),
            "0\n");
  expect_sound();
}

/// Appends until it is killed, and writes the id of each message that was acknowledged to `out`.
[[noreturn]] void append_forever(Writer& writer, const SessionPtr& session, int out) {
  for (;;) {
    const auto written = writer.append_text(session, {"acknowledged", false, ""});
    const std::string line = written ? written->id + "\n" : "failed: " + written.error().message + "\n";
    if (::write(out, line.data(), line.size()) < 0) {
      ::_exit(1);
    }
  }
}

/// Acknowledged messages are there, and no message is there incompletely.
TEST_F(WritesToOpenCode, AKilledWriterLosesAndTearsNothing) {
  open("fresh-1.18.33", "Greeting script (renamed)");
  constexpr int kKills = 10;
  std::string acknowledged;
  for (int i = 0; i < kKills; ++i) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      append_forever(*writer, session, pipe[1]);
    }
    ::close(pipe[1]);
    std::array<char, 4096> bytes{};
    ssize_t length = ::read(pipe[0], bytes.data(), bytes.size());  // the first is done, the next one runs
    ::kill(child, SIGKILL);
    for (; length > 0; length = ::read(pipe[0], bytes.data(), bytes.size())) {
      acknowledged.append(bytes.data(), static_cast<std::size_t>(length));
    }
    ::close(pipe[0]);
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(acknowledged.find("failed"), std::string::npos) << acknowledged;
  Program program(database);
  const std::string kept = program.run(
      "SELECT message.id FROM message JOIN part ON part.message_id = message.id WHERE part.data LIKE '%acknowledged%'");
  std::istringstream ids(acknowledged);
  int count = 0;
  for (std::string id; std::getline(ids, id); ++count) {
    EXPECT_NE(kept.find(id), std::string::npos) << id;
  }
  EXPECT_GE(count, kKills);
  EXPECT_EQ(program.run("SELECT count(*) FROM message WHERE id NOT IN (SELECT message_id FROM part)"), "0\n");
  expect_sound();
}

}  // namespace
}  // namespace arborfs
