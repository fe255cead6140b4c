// Writes by arborfs to OpenCode's JSON files, by the rules of opencode/FORMAT.md F and G.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "core/base/clock.h"
#include "core/formats/opencode/adopted_session.h"
#include "core/formats/opencode/session_rows.h"
#include "core/formats/opencode/storage_folder.h"
#include "core/formats/registry.h"
#include "core/write/trash.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/killed_removals.h"
#include "tests/support/opencode_database.h"
#include "tests/support/split_disk.h"
#include "tests/support/unreadable.h"

namespace arborfs {
namespace {

using conformance::file_text;
using conformance::OpenCodeSession;
using conformance::WritesToOpenCode;
namespace fs = std::filesystem;

constexpr const char* kPlain = "Greeting script (renamed)";
constexpr const char* kParent = "Explore with subagent";
constexpr const char* kChild = "Explore repo (@explore subagent)";

class WritesToOpenCodeFiles : public WritesToOpenCode {
 protected:
  void open_files(const std::string& title, Durability durability = Durability::none, Disk& disk = Disk::real()) {
    WriteSettings settings;
    settings.allow_delete = true;
    settings.durability = durability;
    settings.trash = trash();
    open("files", title, settings, disk);
  }
  [[nodiscard]] std::string trash() const { return temp_.root() + "/trash"; }
  [[nodiscard]] fs::path storage() const { return folder / "storage"; }
  [[nodiscard]] fs::path session_file(const SessionPtr& of) const {
    return storage() / "session" / of->place().folder / of->place().file;
  }
  [[nodiscard]] fs::path message_file(const std::string& message) const {
    return storage() / "message" / id() / (message + ".json");
  }
  [[nodiscard]] fs::path part_file(const std::string& message) const {
    return fs::directory_iterator(storage() / "part" / message)->path();
  }
  /// As a fork leaves it that is killed when it has written the session `ses_parent`.
  void leave_note_of_a_fork() const {
    const pid_t child = ::fork();
    if (child == 0) {
      opencode::AdoptedSession forked;
      forked.id = "ses_parent";
      forked.messages.emplace_back().info.id = "msg_parent1";
      const auto note = opencode::ForkNote::make(Disk::real(), storage(), forked, false);
      ::_exit(note ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  [[nodiscard]] std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(storage())) {
      found[fs::relative(entry.path(), storage()).string()] = entry.is_regular_file() ? file_text(entry.path()) : "";
    }
    return found;
  }
  void set_in_session(const std::string& from, const std::string& to) const {
    std::string text = file_text(session_file(session));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    std::ofstream(session_file(session)) << text.replace(at, from.size(), to);
  }
  void begin_answer(const std::string& in) const {
    std::ofstream(storage() / "message" / in / "msg_zzz.json")
        << R"({"id":"msg_zzz","role":"assistant","time":{"created":)" << now_ms() << "}}";
  }
  Result<void> restore_all(Disk& disk = Disk::real()) {
    for (const Trashed& one : Trash(trash()).list()) {
      if (auto done = restore_session(trash(), one, catalog->stores(), disk); !done) {
        return done;
      }
    }
    catalog->rescan();
    return {};
  }
};

TEST_F(WritesToOpenCodeFiles, AMessageOfTheUserIsTheEndOfTheContext) {
  open_files(kPlain);
  const auto before = all_files();
  const OpenCodeSession old(session->store(), session->place());
  const auto last = old.index().id(old.index().leaf()).text;
  const std::int64_t started = now_ms();
  const auto written = writer->append_text(session, {"go on,\n\"wörld\"\n", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, last);
  EXPECT_EQ(session->read()->index().size(), old.index().size() + 1);  // visible at once

  const OpenCodeSession now(session->store(), session->place());
  EXPECT_EQ(now.index().id(now.index().leaf()).text, written->id);
  EXPECT_EQ(now.context_ids(now.index().leaf()).back(), written->id);
  json::Document message;
  ASSERT_TRUE(json::parse(file_text(message_file(written->id)), message));
  const auto created = static_cast<std::int64_t>(json::member(*json::member(message, "time"), "created")->GetDouble());
  EXPECT_GE(created, started);
  EXPECT_EQ(file_text(message_file(written->id)),
            "{\n  \"id\": \"" + written->id + "\",\n  \"sessionID\": \"" + id() +
                "\",\n  \"role\": \"user\",\n  \"time\": {\n    \"created\": " + std::to_string(created) +
                "\n  },\n  \"agent\": \"build\",\n  \"model\": {\n    \"providerID\": \"mock\",\n    \"modelID\": "
                "\"mock-1\"\n  }\n}")
      << "as the program writes it";
  const fs::path part = part_file(written->id);
  EXPECT_EQ(file_text(part), "{\n  \"id\": \"" + part.stem().string() + "\",\n  \"sessionID\": \"" + id() +
                                 "\",\n  \"messageID\": \"" + written->id +
                                 "\",\n  \"type\": \"text\",\n  \"text\": \"go on,\\n\\\"wörld\\\"\"\n}");
  auto after = all_files();
  const std::string own = fs::relative(session_file(session), storage()).string();
  EXPECT_NE(after.at(own), before.at(own)) << "the session was used";
  after[own] = before.at(own);
  after.erase("message/" + id() + "/" + written->id + ".json");
  after.erase("part/" + written->id);
  after.erase("part/" + written->id + "/" + part.filename().string());
  EXPECT_EQ(after, before);
}

TEST_F(WritesToOpenCodeFiles, ATitleChangesNothingElse) {
  open_files(kPlain);
  const auto before = all_files();
  const auto title = writer->set_title(session, " A \x01 new\n\"title\" ");
  ASSERT_TRUE(title) << title.error().message;
  EXPECT_EQ(*title, "A   new \"title\"");
  EXPECT_EQ(session->title(), *title);
  const std::string own = fs::relative(session_file(session), storage()).string();
  auto after = all_files();
  const std::size_t updated = before.at(own).find("\"updated\": ") + 11;
  std::string expected = before.at(own);
  expected.replace(updated, 13, after.at(own).substr(after.at(own).find("\"updated\": ") + 11, 13));
  expected.replace(expected.find(kPlain), std::string(kPlain).size(), "A   new \\\"title\\\"");
  EXPECT_EQ(after.at(own), expected);
  after[own] = before.at(own);
  EXPECT_EQ(after, before);
  EXPECT_EQ(*writer->set_title(session, "made by a program", false, "auto"), *title);
  set_in_session(R"(A   new \"title\")", "New session - 2026-11-26T10:00:00.000Z");
  EXPECT_EQ(*writer->set_title(session, "made by a program", false, "auto"), "made by a program");
}

TEST_F(WritesToOpenCodeFiles, ATitleComesToASessionThatHasNone) {
  open_files(kPlain);
  std::ofstream(session_file(session)) << "{}";
  ASSERT_TRUE(writer->set_title(session, "named"));
  EXPECT_EQ(file_text(session_file(session)), "{\n  \"title\": \"named\"\n}");
  std::ofstream(session_file(session)) << R"({"id":"a"})";
  ASSERT_TRUE(writer->set_title(session, "named"));
  json::Document object;
  ASSERT_TRUE(json::parse(file_text(session_file(session)), object));
  EXPECT_EQ(conformance::word(object, "title"), "named");
  std::ofstream(session_file(session)) << "torn";
  EXPECT_EQ(writer->set_title(session, "named").error().code, Errc::corrupt);
  EXPECT_EQ(file_text(session_file(session)), "torn");
}

constexpr fs::perms kPrivate = fs::perms::owner_read | fs::perms::owner_write;

TEST_F(WritesToOpenCodeFiles, APrivateFileStaysPrivate) {
  open_files(kPlain);
  const fs::path own = session_file(session);
  fs::permissions(own, kPrivate);
  ASSERT_TRUE(writer->set_title(session, "named"));
  EXPECT_EQ(fs::status(own).permissions(), kPrivate);
  ASSERT_TRUE(writer->append_text(session, {"more", false, ""}));
  EXPECT_EQ(fs::status(own).permissions(), kPrivate);
  ASSERT_TRUE(writer->remove(session));
  ASSERT_TRUE(restore_all());
  EXPECT_EQ(fs::status(own).permissions(), kPrivate);
}

TEST_F(WritesToOpenCodeFiles, WhatOpenCodeHasNoMessageForIsRefused) {
  open_files(kPlain);
  const auto before = all_files();
  EXPECT_EQ(writer->append_text(session, {R"({"role":"user"})", true, ""}).error().code, Errc::not_permitted);
  EXPECT_EQ(writer->append_text(session, {"\xFF", false, ""}).error().code, Errc::not_utf8);
  EXPECT_EQ(writer->append_text(session, {"\n", false, ""}).error().code, Errc::invalid_argument);
  EXPECT_EQ(writer->append_text(session, {"x", false, "msg_other"}).error().code, Errc::stale);
  EXPECT_EQ(writer->set_title(session, " \n").error().code, Errc::invalid_argument);
  EXPECT_EQ(all_files(), before);
  begin_answer(id());
  EXPECT_EQ(writer->append_text(session, {"x", false, ""}).error().code, Errc::busy);
  EXPECT_EQ(writer->summarize(session, "x").error().code, Errc::busy);
  EXPECT_EQ(writer->check_remove(session).error().code, Errc::busy);
  EXPECT_EQ(writer->remove(session).error().code, Errc::busy);
  fs::remove(session_file(session));
  EXPECT_EQ(writer->append_text(session, {"x", false, ""}).error().code, Errc::not_found);
  EXPECT_EQ(writer->set_title(session, "x").error().code, Errc::not_found);
}

TEST_F(WritesToOpenCodeFiles, NothingIsAppendedWhereMessagesAreUndone) {
  open_files("Add greeting to hello.py");
  EXPECT_EQ(writer->append_text(session, {"more", false, ""}).error().code, Errc::invalid_argument);
  EXPECT_TRUE(writer->set_title(session, "still takes a title"));
}

TEST_F(WritesToOpenCodeFiles, ARemovedSessionComesBackFileForFile) {
  open_files(kParent);
  std::ofstream(storage() / "session_diff" / (id() + ".json")) << "[{}]";
  fs::create_directories(storage() / "session_share");
  std::ofstream(storage() / "session_share" / (id() + ".json")) << R"({"secret":"s"})";
  std::ofstream(storage() / "todo" / (id() + ".json")) << "\xFF not UTF-8";
  const auto before = all_files();
  const auto child = titled(kChild);
  const auto done = writer->remove(session);
  ASSERT_TRUE(done) << done.error().message;
  for (const auto& [name, text] : all_files()) {
    EXPECT_EQ(name.find(id()), std::string::npos) << name;
    EXPECT_EQ(name.find(child->stem()), std::string::npos) << name;
  }
  EXPECT_FALSE(titled(kParent) || titled(kChild));
  EXPECT_TRUE(titled(kPlain));
  EXPECT_TRUE(fs::exists(storage() / "project" / (child->place().folder + ".json"))) << "other sessions have it too";
  const auto list = Trash(trash()).list();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].title, kParent);
  EXPECT_EQ(list[0].agent, "opencode");
  EXPECT_EQ(list[0].format, "opencode-json");
  const auto restored = restore_all();
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(all_files(), before);
  EXPECT_TRUE(Trash(trash()).list().empty());
  EXPECT_TRUE(titled(kParent) && titled(kChild));
}

TEST_F(WritesToOpenCodeFiles, ARestoreReplacesNothing) {
  open_files(kPlain);
  const fs::path own = session_file(session);
  ASSERT_TRUE(writer->remove(session));
  std::ofstream(own) << R"({"id":"another"})";
  EXPECT_EQ(restore_all().error().code, Errc::already_exists);
  EXPECT_EQ(file_text(own), R"({"id":"another"})");
  fs::remove(own);
  fs::create_directories(storage() / "session" / "other");
  std::ofstream(storage() / "session" / "other" / own.filename()) << "{}";
  EXPECT_EQ(restore_all().error().code, Errc::already_exists) << "OpenCode moved it to its project";
  EXPECT_EQ(Trash(trash()).list().size(), 1U);
}

/// The trash must not lose a file because a different file occupies its place.
TEST_F(WritesToOpenCodeFiles, ARestoreLosesNothingToAnotherFile) {
  open_files(kPlain);
  const fs::path todo = storage() / "todo" / (id() + ".json");
  std::ofstream(todo) << "[1]";
  const auto before = all_files();
  ASSERT_TRUE(writer->remove(session));
  std::ofstream(todo) << "[2]";
  const auto removed = all_files();
  const auto refused = restore_all();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::already_exists);
  EXPECT_NE(refused.error().message.find("todo/" + id() + ".json"), std::string::npos) << refused.error().message;
  EXPECT_EQ(all_files(), removed);
  EXPECT_EQ(Trash(trash()).list().size(), 1U);
  fs::remove(todo);
  ASSERT_TRUE(restore_all());
  EXPECT_EQ(all_files(), before);
}

/// A disk on which OpenCode does something before a file gets its name.
class BusyDisk : public Disk {
 public:
  std::function<void(const std::string& name)> before_naming;
  bool fails_next = false;
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    if (before_naming) {
      before_naming(new_name);
    }
    if (fails_next) {
      return Error{Errc::io, "a fault of the test"};
    }
    return Disk::rename(from, name, to, new_name, existing);
  }
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    if (before_naming) {
      before_naming(other);
    }
    return Disk::exchange(folder, name, other);
  }
};

/// OpenCode writes to a session's own file in the moment in which arborfs replaces it.
class ReplacesSessionFile : public WritesToOpenCodeFiles {
 protected:
  void open_busy() {
    open_files(kPlain, Durability::synced, disk_);
    own_ = session_file(session);
    disk_.before_naming = [this](const std::string& name) {
      if (name == own_.filename() && !std::exchange(has_changed_, true)) {
        std::string text = file_text(own_);
        std::ofstream(own_) << text.insert(text.find('{') + 1, "\"share\":{\"url\":\"https://example.org/s\"},");
      }
    };
  }
  void expect_change_kept() const {
    EXPECT_TRUE(has_changed_);
    EXPECT_NE(file_text(own_).find("https://example.org/s"), std::string::npos) << file_text(own_);
    json::Document document;
    EXPECT_TRUE(json::parse(file_text(own_), document));
    for (const auto& entry : fs::directory_iterator(own_.parent_path())) {
      EXPECT_EQ(entry.path().extension(), ".json") << entry.path();
    }
  }
  BusyDisk disk_;
  fs::path own_;
  bool has_changed_ = false;
};

TEST_F(ReplacesSessionFile, ATitleKeepsAChangeOfTheSameMoment) {
  open_busy();
  const auto done = writer->set_title(session, "my title");
  ASSERT_TRUE(done) << done.error().message;
  expect_change_kept();
  EXPECT_NE(file_text(own_).find("my title"), std::string::npos);
}

TEST_F(ReplacesSessionFile, AMessageKeepsAChangeOfTheSameMoment) {
  open_busy();
  const auto done = writer->append_text(session, {"hello", false, ""});
  ASSERT_TRUE(done) << done.error().message;
  expect_change_kept();
  EXPECT_TRUE(fs::exists(message_file(done->id)));
}

TEST_F(WritesToOpenCodeFiles, AFileThatChangesWhileItsSessionIsRemovedIsNotLost) {
  BusyDisk disk;
  open_files(kPlain, Durability::none, disk);
  const fs::path own = session_file(session);
  std::string changed;
  disk.before_naming = [&](const std::string& name) {
    if (name == own.filename() && changed.empty()) {
      changed = file_text(own) + "\n";
      std::ofstream(own) << changed;
    }
  };
  const auto done = writer->remove(session);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(fs::exists(own));
  ASSERT_EQ(Trash(trash()).list().size(), 1U);
  ASSERT_TRUE(restore_all());
  EXPECT_EQ(file_text(own), changed);
}

TEST_F(WritesToOpenCodeFiles, ARemovalThatCannotReadEverythingRemovesNothing) {
  open_files(kParent);
  fs::remove_all(storage());
  conformance::make_small_files(folder);
  fs::create_directories(storage() / "session" / "q");
  fs::rename(storage() / "session" / "p" / "ses_child.json", storage() / "session" / "q" / "ses_child.json");
  catalog->rescan();
  session = titled(kParent);
  ASSERT_TRUE(session);
  const auto before = all_files();
  for (const char* name :
       {"session/q", "session/q/ses_child.json", "session/p/ses_plain.json", "message", "message/ses_parent",
        "message/ses_child", "part", "part/msg_child1", "todo", "session_diff"}) {
    Result<void> done;
    {
      const arborfs::testing::Unreadable unreadable(storage() / name);
      done = writer->remove(session);
    }
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().code, Errc::permission) << name << ": " << done.error().message;
    ASSERT_EQ(all_files(), before) << name;
    EXPECT_TRUE(Trash(trash()).list().empty()) << name;
  }
  const fs::path part = storage() / "part/msg_parent1/prt_1.json";
  fs::permissions(part, fs::perms::none);
  const auto done = writer->remove(session);
  ASSERT_TRUE(done) << "its files are moved, not read: " << done.error().message;
  ASSERT_TRUE(restore_all());
  EXPECT_EQ(fs::status(part).permissions(), fs::perms::none);
}

/// The disk fails for good at each operation of a removal. A session is complete in the store, or nothing of it is in
/// the store when the next writer has begun.
TEST_F(WritesToOpenCodeFiles, TheNextWriterFinishesARemoval) {
  testing::FaultyDisk disk;
  open_files(kParent, Durability::none, disk);
  fs::remove_all(storage());
  conformance::make_small_files(folder);
  const auto before = all_files();
  int unfinished = 0;
  for (unsigned at = 1; titled(kParent); ++at) {
    leave_note_of_a_fork();
    disk.arm(testing::Fault::io, at, testing::FaultyDisk::kForGood);
    const auto done = writer->remove(titled(kParent));
    disk.disarm();
    const bool was_left =
        !fs::exists(storage() / "session/p/ses_parent.json") && fs::exists(storage() / "part/msg_parent1");
    unfinished += was_left ? 1 : 0;
    writer->take_back_parts();
    for (const std::string name : {"parent", "child"}) {
      const bool is_there = fs::exists(storage() / "session/p" / ("ses_" + name + ".json"));
      EXPECT_EQ(fs::exists(storage() / "message" / ("ses_" + name)), is_there) << at;
      EXPECT_EQ(fs::exists(storage() / "part" / ("msg_" + name + "1")), is_there) << at;
    }
    catalog->rescan();
    if (done) {
      break;
    }
    const auto restored = restore_all();
    ASSERT_TRUE(restored) << at << ": " << restored.error().message;
    ASSERT_EQ(all_files(), before) << at;
  }
  EXPECT_GT(unfinished, 0);
}

/// Also one that is deleted from the trash before the next writer begins leaves nothing in the store.
TEST_F(WritesToOpenCodeFiles, DeletingFromTheTrashFinishesARemoval) {
  testing::FaultyDisk disk;
  open_files(kParent, Durability::none, disk);
  for (unsigned at = 1, unfinished = 0; unfinished == 0; ++at) {
    fs::remove_all(storage());
    conformance::make_small_files(folder);
    catalog->rescan();
    disk.arm(testing::Fault::io, at, testing::FaultyDisk::kForGood);
    const auto done = writer->remove(titled(kParent));
    disk.disarm();
    ASSERT_FALSE(done) << "no removal was left unfinished";
    const bool was_left =
        !fs::exists(storage() / "session/p/ses_parent.json") && fs::exists(storage() / "part/msg_parent1");
    unfinished += was_left ? 1 : 0;
    for (const Trashed& one : Trash(trash()).list()) {
      const auto erased = erase_session(trash(), one, catalog->stores(), disk);
      ASSERT_TRUE(erased) << erased.error().message;
    }
  }
  for (const auto& [name, text] : all_files()) {
    EXPECT_TRUE(name.find("parent") == std::string::npos && name.find("child") == std::string::npos) << name;
  }
}

/// A session that another program brings back belongs to the store: only a removal that was cut short is finished.
TEST_F(WritesToOpenCodeFiles, ASessionBroughtBackFromABackupStays) {
  open_files(kParent, Durability::none, Disk::real());
  fs::remove_all(storage());
  conformance::make_small_files(folder);
  catalog->rescan();
  const fs::path backup = folder.string() + "-backup";
  fs::copy(storage(), backup, fs::copy_options::recursive);
  ASSERT_TRUE(writer->remove(titled(kParent)));
  fs::copy(backup, storage(), fs::copy_options::recursive | fs::copy_options::skip_existing);
  fs::copy(storage() / "message/ses_parent/msg_parent1.json", storage() / "message/ses_parent/msg_parent9.json");
  const auto before = all_files();
  writer->take_back_parts();
  EXPECT_EQ(all_files(), before);
  fs::remove_all(backup);
}

/// The trash is on another file system.
TEST_F(WritesToOpenCodeFiles, ARemovalAcrossFileSystemsCopies) {
  testing::SplitDisk disk;
  disk.set_apart(trash());
  open_files(kParent, Durability::synced, disk);
  const auto before = all_files();
  const auto done = writer->remove(session);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(Trash(trash()).list().size(), 1U);
  EXPECT_FALSE(titled(kParent) || titled(kChild));
  for (const Trashed& one : Trash(trash(), disk).list()) {
    const auto restored = restore_session(trash(), one, catalog->stores(), disk);
    ASSERT_TRUE(restored) << restored.error().message;
  }
  EXPECT_EQ(all_files(), before);
}

/// Earlier versions kept the files of a session in a trash on another file system as lines.
TEST_F(WritesToOpenCodeFiles, ASessionThatAnEarlierVersionCopiedComesBack) {
  open_files(kParent);
  const auto before = all_files();
  const fs::path own = session_file(session);
  ASSERT_TRUE(writer->remove(session));
  const fs::path files = fs::path(trash()) / Trash(trash()).list().at(0).name / "files";
  std::string lines;
  for (const auto& entry : fs::recursive_directory_iterator(files)) {
    const fs::path name = fs::relative(entry.path(), files);
    if (entry.is_regular_file()) {
      const bool is_deep = std::distance(name.begin(), name.end()) == 3;
      lines += R"({"table":"file","columns":["kind","folder","name","mtime","mode","text"],"values":[)";
      for (const std::string& value :
           {name.begin()->string(), is_deep ? std::next(name.begin())->string() : "", name.filename().string()}) {
        lines += json::stringify_string(value) + ",";
      }
      lines += "1000000000,384," + json::stringify_string(file_text(entry.path())) + "]}\n";
    }
  }
  for (const char* const kind : {"message", "part", "session", "project", "todo", "session_diff", "session_share"}) {
    fs::remove_all(files / kind);
  }
  std::ofstream(files / "files.jsonl") << lines;
  const auto restored = restore_all();
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(all_files(), before);
  EXPECT_EQ(fs::status(own).permissions(), kPrivate);
}

/// A killed removal to another file system leaves a part of the session in the store.
TEST_F(WritesToOpenCodeFiles, TheOnlyCompleteCopyIsNotDeletedFromTheTrash) {
  testing::SplitDisk disk;
  disk.set_apart(trash());
  open_files(kParent, Durability::none, disk);
  const fs::path backup = folder.string() + "-backup";
  fs::copy(storage(), backup, fs::copy_options::recursive);
  const fs::path message = fs::directory_iterator(storage() / "message" / id())->path();
  ASSERT_TRUE(writer->remove(session));
  fs::copy(backup, storage(), fs::copy_options::recursive | fs::copy_options::skip_existing);
  ASSERT_GT(fs::remove_all(storage() / "part" / message.stem()), 0U);
  const auto removed = Trash(trash(), disk).list();
  ASSERT_EQ(removed.size(), 1U);
  const auto refused = erase_session(trash(), removed.front(), catalog->stores(), disk);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::already_exists);
  EXPECT_EQ(Trash(trash(), disk).list().size(), 1U);
  fs::copy(backup, storage(), fs::copy_options::recursive | fs::copy_options::skip_existing);
  const auto before = all_files();
  const auto erased = erase_session(trash(), removed.front(), catalog->stores(), disk);
  ASSERT_TRUE(erased) << erased.error().message;
  EXPECT_TRUE(Trash(trash(), disk).list().empty());
  EXPECT_EQ(all_files(), before);
  fs::remove_all(backup);
}

Conversation short_conversation() {
  Conversation conversation;
  conversation.cwd = "/nowhere";
  Turn turn;
  turn.time_ms = 1;
  turn.add(TurnPart::Kind::text, "hello");
  conversation.turns.push_back(turn);
  return conversation;
}

TEST_F(WritesToOpenCodeFiles, AProjectThatOpenCodeMakesMeanwhileIsItsOwn) {
  BusyDisk disk;
  open_files(kPlain);
  const fs::path global = storage() / "project" / "global.json";
  fs::remove(global);
  disk.before_naming = [&](const std::string& name) {
    if (name == "global.json") {
      std::ofstream(global) << R"({"id":"global"})";
    }
  };
  AsText counts;
  const auto made = opencode::adopt_in_files(disk, storage().string(), short_conversation(), false, counts);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->project, "global");
  EXPECT_EQ(file_text(global), R"({"id":"global"})");
}

/// The last step of an adoption fails after OpenCode has begun to use the project that the adoption made.
TEST_F(WritesToOpenCodeFiles, AFailedAdoptionLeavesAProjectThatOpenCodeUses) {
  const auto no_change = [](const fs::path& /*storage*/) {};
  const auto add_session = [](const fs::path& storage) {
    std::ofstream(storage / "session" / "global" / "ses_other.json") << R"({"id":"ses_other","projectID":"global"})";
  };
  const auto edit = [](const fs::path& storage) {
    std::ofstream(storage / "project" / "global.json") << R"({"id":"global","name":"mine"})";
  };
  open_files(kPlain);
  const fs::path global = storage() / "project" / "global.json";
  for (const auto& [use, stays] :
       {std::pair<std::function<void(const fs::path&)>, bool>{no_change, false}, {add_session, true}, {edit, true}}) {
    fs::remove_all(storage());
    conformance::make_small_files(folder);
    BusyDisk disk;
    disk.before_naming = [&, &use = use](const std::string& name) {
      if (name.starts_with("ses_")) {
        use(storage());
        disk.fails_next = true;
      }
    };
    AsText counts;
    const auto made = opencode::adopt_in_files(disk, storage().string(), short_conversation(), false, counts);
    ASSERT_FALSE(made);
    EXPECT_EQ(fs::exists(global), stays);
    EXPECT_FALSE(fs::exists(storage() / "message" / "global"));
  }
}

TEST_F(WritesToOpenCodeFiles, AnEditedTrashWritesNothingElsewhere) {
  open_files(kPlain);
  ASSERT_TRUE(writer->remove(session));
  const auto before = all_files();
  const fs::path lines = fs::path(trash()) / Trash(trash()).list().at(0).name / "files" / "files.jsonl";
  for (const char* place : {R"("part","..","a.json")", R"("auth","","a.json")", R"("part","a/../..","a.json")",
                            R"("session","p","../../../a.json")"}) {
    std::ofstream(lines) << R"({"table":"file","columns":["kind","folder","name","mtime","text"],"values":[)" << place
                         << ",1,\"x\"]}\n";
    EXPECT_EQ(restore_all().error().code, Errc::corrupt) << place;
  }
  EXPECT_EQ(all_files(), before);
}

/// A program that continuously lists messages never finds one that it cannot read completely.
TEST_F(WritesToOpenCodeFiles, AReaderNeverSeesAMessageWithoutItsPart) {
  open_files(kPlain);
  std::atomic<bool> is_over{false};
  int looks = 0;
  std::thread reader([&] {
    for (; !is_over || looks == 0; ++looks) {
      for (const auto& entry : fs::directory_iterator(storage() / "message" / id())) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(".")) {
          continue;
        }
        json::Document message;
        EXPECT_TRUE(json::parse(file_text(entry.path()), message)) << name;
        const fs::path parts = storage() / "part" / entry.path().stem();
        std::size_t whole = 0;
        for (const auto& part : fs::directory_iterator(parts)) {
          json::Document document;
          whole += json::parse(file_text(part.path()), document) ? 1 : 0;
        }
        EXPECT_GT(whole, 0U) << name;
      }
      json::Document own;
      EXPECT_TRUE(json::parse(file_text(session_file(session)), own));
    }
  });
  constexpr int kAppends = 50;
  for (int i = 0; i < kAppends; ++i) {
    const auto done = writer->append_text(session, {"text", false, ""});
    EXPECT_TRUE(done) << done.error().message;
  }
  is_over = true;
  reader.join();
  EXPECT_GT(looks, 0);
}

TEST_F(WritesToOpenCodeFiles, AMessageClearsWhatAKilledWriterLeftBesideIt) {
  open_files(kPlain);
  const fs::path messages = storage() / "message" / id();
  for (const char* name : {".msg_old.json.tmp", ".arborfs-old.tmp", ".msg_young.json.tmp"}) {
    std::ofstream(messages / name) << "part";
    if (std::string_view(name) != ".msg_young.json.tmp") {
      fs::last_write_time(messages / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
  }
  ASSERT_TRUE(writer->append_text(session, {"hello", false, ""}));
  EXPECT_FALSE(fs::exists(messages / ".msg_old.json.tmp"));
  EXPECT_FALSE(fs::exists(messages / ".arborfs-old.tmp"));
  EXPECT_TRUE(fs::exists(messages / ".msg_young.json.tmp"));
}

TEST_F(WritesToOpenCodeFiles, WritersTakeTurns) {
  open_files(kPlain);
  const auto before = OpenCodeSession(session->store(), session->place()).index().size();
  constexpr int kWriters = 4;
  constexpr int kEach = 10;
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
  const OpenCodeSession now(session->store(), session->place());
  EXPECT_EQ(now.index().size(), before + kWriters * kEach);
}

TEST_F(WritesToOpenCodeFiles, EachSessionOfAKilledRemovalIsInTheStoreOrInTheTrash) {
  testing::SplitDisk disk;  // a kill loses nothing that was not synced
  open_files(kPlain, Durability::none, disk);
  fs::remove_all(storage());
  conformance::make_small_files(folder);
  catalog->rescan();
  const auto before = all_files();
  testing::kill_removals(*catalog, *writer, trash(), disk, 100, [&](int round) {
    const auto restored = restore_all(disk);
    ASSERT_TRUE(restored) << round << ": " << restored.error().message;
    auto now = all_files();
    std::erase_if(now, [](const auto& file) { return fs::path(file.first).filename().string().starts_with("."); });
    ASSERT_EQ(now, before) << round;
  });
}

/// Acknowledged messages are there, and no message is there incompletely.
TEST_F(WritesToOpenCodeFiles, AKilledWriterLosesAndTearsNothing) {
  open_files(kPlain);
  constexpr int kKills = 20;
  std::string acknowledged;
  for (int i = 0; i < kKills; ++i) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        const auto written = writer->append_text(session, {"acknowledged", false, ""});
        const std::string line = written ? written->id + "\n" : "failed: " + written.error().message + "\n";
        if (::write(pipe[1], line.data(), line.size()) < 0) {
          ::_exit(1);
        }
      }
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
  std::istringstream ids(acknowledged);
  int count = 0;
  for (std::string message; std::getline(ids, message); ++count) {
    json::Document document;
    EXPECT_TRUE(json::parse(file_text(message_file(message)), document)) << message;
    EXPECT_TRUE(json::parse(file_text(part_file(message)), document)) << message;
  }
  EXPECT_GE(count, kKills);
  for (const auto& entry : fs::directory_iterator(storage() / "message" / id())) {
    const fs::path& file = entry.path();
    EXPECT_TRUE(file.filename().string().starts_with(".") || fs::exists(storage() / "part" / file.stem())) << file;
  }
}

}  // namespace
}  // namespace arborfs
