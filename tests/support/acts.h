// Every operation of the Writer and the trash that changes a store. Each row gives the store it starts from and a check
// that it was done. The tests that fail the disk or cut the power at every point run all of these.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/registry.h"
#include "tests/support/split_disk.h"
#include "tests/support/stage.h"
#include "tests/support/undone.h"

namespace arborfs::testing {

inline constexpr const char* kName = "2026-02-16T10-20-30-000Z_s1";
inline constexpr const char* kMarker = "what was written";

/// The session s1 wherever its log is now; null if it is gone.
inline SessionPtr the_session(Stage& stage) {
  return session_with_id(stage.catalog(), "s1");
}

inline std::size_t sessions(Stage& stage) {
  return stage.catalog().view()->by_id.size();
}

inline std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

inline SessionPtr small(Stage& stage) {
  return stage.add_small(kName);
}

inline SessionPtr with_slot(Stage& stage) {
  return stage.add(kName, omp::title_slot_line("First", "user", 1771237231000) + TempStore::header("s1", "/work/pi") +
                              "\n" + TempStore::user("aaaa0001", "", "one") + "\n");
}

/// The padding of the slot was trimmed, as editors do.
inline SessionPtr with_short_slot(Stage& stage) {
  const std::string slot = omp::title_slot_line("First", "user", 1771237231000);
  const std::size_t pad = slot.find("    ");
  return stage.add(kName, slot.substr(0, pad) + "\"}\n" + TempStore::header("s1", "/work/pi") + "\n" +
                              TempStore::user("aaaa0001", "", "one") + "\n");
}

inline SessionPtr version_1(Stage& stage) {
  return stage.add(kName, R"({"type":"session","id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work/pi"})"
                          "\n"
                          R"({"type":"message","timestamp":"t","message":{"role":"user","content":"one"}})"
                          "\n");
}

/// pi wrote it: its name is an entry.
inline SessionPtr of_pi(Stage& stage) {
  return stage.add(kName, TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n" +
                              R"({"type":"session_info","id":"aaaa0002","parentId":"aaaa0001","name":"First"})"
                              "\n");
}

inline SessionPtr torn(Stage& stage) {
  return stage.add(kName,
                   TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n{\"ty");
}

inline SessionPtr with_moved_leaf(Stage& stage) {
  const auto session = small(stage);
  EXPECT_TRUE(stage.writer().branch(session, "aaaa0001"));
  return session;
}

inline SessionPtr with_artifacts(Stage& stage) {
  const auto session = small(stage);
  const std::filesystem::path folder = stage.temp().log("-work", kName).parent_path() / kName;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "1.bash.log") << "output";
  std::filesystem::create_symlink("1.bash.log", folder / "last.log");
  return session;
}

inline Result<void> append(Stage& stage, const SessionPtr& session) {
  return plain(stage.writer().append(session, Stage::text(kMarker)));
}

/// More bytes than one write(2) writes whole or not at all (core/session/store_state.h).
inline Result<void> append_many_pages(Stage& stage, const SessionPtr& session) {
  return plain(stage.writer().append(session, Stage::text(kMarker + std::string(20'000, 'x'))));
}

inline Result<void> append_image(Stage& stage, const SessionPtr& session) {
  const std::string data(16 * 1024, 'A');
  auto command = omp::json_command(R"({"role":"user","content":[{"type":"text","text":")" + std::string(kMarker) +
                                       R"("},{"type":"image","mimeType":"image/png","data":")" + data + "\"}]}",
                                   omp::Dialect::omp13, 1771237231000);
  EXPECT_TRUE(command);
  EXPECT_EQ(command->drafts.at(0).blobs.size(), 1U);
  return plain(stage.writer().append(session, std::move(*command)));
}

inline bool is_written(Stage& stage) {
  const auto session = the_session(stage);
  return session && count(stage.bytes(session), kMarker) == 1;
}

inline bool is_written_with_its_image(Stage& stage) {
  const std::filesystem::path blobs = std::filesystem::path(stage.temp().root()) / "blobs";
  std::size_t whole = 0;
  for (const auto& blob : std::filesystem::directory_iterator(blobs)) {
    whole += stage.store().blobs()->open(blob.path().filename().string()) ? 1 : 0;
  }
  return is_written(stage) && whole == 1;
}

/// Where removed sessions go.
inline std::string trash_of(const Stage& stage) {
  return stage.temp().root() + "/trash";
}

/// Removed, together with its folder, which held nothing else.
inline SessionPtr in_trash(Stage& stage) {
  const auto session = with_artifacts(stage);
  EXPECT_TRUE(stage.writer().remove(session));
  EXPECT_TRUE(std::filesystem::remove(stage.temp().sessions() / "-work"));
  return session;
}

/// A store without even the folder of sessions.
inline SessionPtr nothing(Stage& stage) {
  std::filesystem::remove_all(stage.temp().sessions());
  stage.catalog().rescan();
  return nullptr;
}

inline Result<void> append_below_the_first(Stage& stage, const SessionPtr& session) {
  return plain(stage.writer().append(session, Stage::text(kMarker), "aaaa0001"));
}

/// What the mount does for a text that arrives in pieces.
inline Result<void> append_with_room(Stage& stage, const SessionPtr& session) {
  constexpr std::uint64_t kRoom = 1 << 20;
  const auto room = stage.writer().reserve(session, kRoom);
  return room ? append(stage, session) : Result<void>(room.error());
}

inline Result<void> create(Stage& stage, const SessionPtr& /*session*/) {
  return plain(stage.writer().create({"/work/pi", "A title", "", "anthropic/claude"}));
}

inline Result<void> remove(Stage& stage, const SessionPtr& session) {
  return stage.writer().remove(session);
}

inline Result<void> restore(Stage& stage, const SessionPtr& /*session*/) {
  const auto all = Trash(trash_of(stage)).list();
  EXPECT_EQ(all.size(), 1U);
  auto done = all.empty()
                  ? Result<void>(Errc::not_found, "the trash is empty")
                  : restore_session(trash_of(stage), all.front(), stage.catalog().stores(), stage.store().disk());
  stage.catalog().rescan();
  return done;
}

inline Result<void> undo(Stage& stage, const SessionPtr& /*session*/) {
  return plain(undo_last(stage.writer(), stage.store().disk()));
}

inline bool is_not_written(Stage& stage) {
  const auto session = the_session(stage);
  return session && count(stage.bytes(session), kMarker) == 0;
}

inline SessionPtr appended(Stage& stage) {
  const auto session = small(stage);
  EXPECT_TRUE(append(stage, session));
  return session;
}

inline SessionPtr titled_in_a_slot(Stage& stage) {
  const auto session = with_slot(stage);
  EXPECT_TRUE(stage.writer().set_title(session, kMarker));
  return session;
}

inline bool has_two(Stage& stage) {
  return sessions(stage) == 2;
}

inline bool is_in_trash(Stage& stage) {
  const auto all = Trash(trash_of(stage)).list();
  return sessions(stage) == 0 && all.size() == 1 &&
         std::filesystem::exists(trash_of(stage) + "/" + all[0].name + "/files/" + kName + ".jsonl");
}

inline bool is_back(Stage& stage) {
  return the_session(stage) != nullptr &&
         std::filesystem::exists(stage.temp().log("-work", kName).parent_path() / kName / "1.bash.log");
}

inline Result<void> relocate(Stage& stage, const SessionPtr& session) {
  return plain(stage.writer().relocate(session, {"/work/pi", "/work/other"}));
}

inline bool is_relocated(Stage& stage) {
  const auto session = the_session(stage);
  return session && session->head().header.cwd == "/work/other" && session->place().folder == "--work-other--";
}

inline SessionPtr relocated(Stage& stage) {
  const auto session = with_artifacts(stage);
  EXPECT_TRUE(stage.writer().relocate(session, {"/work/pi", "/work/other"}));
  return session;
}

/// As the one that relocated() made.
inline Result<void> put_back(Stage& stage, const SessionPtr& session) {
  auto back = stage.writer().check_relocation(session, {"/work/other", "/work/pi"});
  EXPECT_TRUE(back) << back.error().message;
  back->to.folder = "-work";
  return stage.writer().put_back({reversed(*back)});
}

/// Which bytes of the log the act leaves unchanged.
enum class Keeps : std::uint8_t { all, all_but_slot, all_but_header, words, all_but_last };

/// One operation: the store it starts from, and the check that it was done.
struct Act {
  const char* name;
  SessionPtr (*prepare)(Stage&);  // returns the session s1; null if there is none
  Result<void> (*run)(Stage&, const SessionPtr&);
  bool (*is_done)(Stage&);
  Keeps keeps = Keeps::all;
  bool trash_is_apart = false;  // the trash is on another file system
};

inline const Act kActs[] = {
    {"append", small, append, is_written},
    {"append behind a torn line", torn, append, is_written},
    {"append at a moved leaf", with_moved_leaf, append, is_written},
    {"append to another branch", small, append_below_the_first, is_written},
    {"append in a room set aside", small, append_with_room, is_written},
    {"append of many pages", small, append_many_pages, is_written},
    {"append with an image", small, append_image, is_written_with_its_image},
    {"append to version 1", version_1, append,
     [](Stage& stage) { return is_written(stage) && stage.bytes(the_session(stage)).find("\"version\":3") < 200; },
     Keeps::words},
    {"rewrite of version 1", version_1,
     [](Stage& stage, const SessionPtr& session) { return stage.writer().rewrite(session); },
     [](Stage& stage) { return stage.bytes(the_session(stage)).find("\"version\":3") < 200; }, Keeps::words},
    {"branch", small,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().branch(session, "aaaa0001")); },
     [](Stage& stage) { return Stage::leaf_id(the_session(stage)) == "aaaa0001"; }},
    {"branch with a summary", small,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().branch(session, "aaaa0001", kMarker)); },
     is_written},
    {"label", small,
     [](Stage& stage, const SessionPtr& session) {
       return plain(stage.writer().label(session, {{"aaaa0001", kMarker}, {"aaaa0002", "other"}}));
     },
     is_written},
    {"title", small,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().set_title(session, kMarker)); },
     [](Stage& stage) { return the_session(stage)->head().header.title == kMarker; }, Keeps::all_but_header},
    {"title in a slot", with_slot,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().set_title(session, kMarker)); },
     [](Stage& stage) { return the_session(stage)->head().header.title == kMarker; }, Keeps::all_but_slot},
    {"title in a slot of another length", with_short_slot,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().set_title(session, kMarker)); },
     [](Stage& stage) { return the_session(stage)->head().header.title == kMarker; }, Keeps::all_but_header},
    {"fork", small, [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().fork(session)); },
     has_two},
    {"fork of a path", small,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().fork(session, "aaaa0001")); }, has_two},
    {"fork from another agent", small,
     [](Stage& stage, const SessionPtr& session) {
       const auto conversation = read_conversation(session, "");
       return conversation ? plain(stage.writer().adopt(*conversation, "omp")) : Result<void>(conversation.error());
     },
     has_two},
    {"append to a log of pi", of_pi, append, is_written},
    {"branch with a summary in a log of pi", of_pi,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().branch(session, "aaaa0001", kMarker)); },
     is_written},
    {"label in a log of pi", of_pi,
     [](Stage& stage, const SessionPtr& session) {
       return plain(stage.writer().label(session, {{"aaaa0001", kMarker}}));
     },
     is_written},
    {"title of a log of pi", of_pi,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().set_title(session, kMarker)); },
     [](Stage& stage) {
       const auto session = the_session(stage);
       return session->refresh(Depth::index) && session->head().header.title == kMarker;
     }},
    {"fork of a log of pi", of_pi,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().fork(session, "", false, kMarker)); },
     has_two},
    {"create beside a log of pi", of_pi, create, has_two},
    {"move of a log of pi", of_pi,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().move(session, "/work/other")); },
     [](Stage& stage) {
       const auto session = the_session(stage);
       return session && session->head().header.cwd == "/work/other" && session->place().folder == "--work-other--";
     },
     Keeps::all_but_header},
    {"remove of a log of pi", of_pi, remove, is_in_trash},
    {"create", small, create, has_two},
    {"create in an empty place", nothing, create, [](Stage& stage) { return sessions(stage) == 1; }},
    {"move", with_artifacts,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().move(session, "/work/other")); },
     [](Stage& stage) {
       const auto session = the_session(stage);
       return session && session->head().header.cwd == "/work/other" && session->place().folder == "--work-other--" &&
              std::filesystem::exists(stage.temp().sessions() / "--work-other--" / kName / "1.bash.log");
     },
     Keeps::all_but_header},
    {"relocate", with_artifacts, relocate,
     [](Stage& stage) {
       return is_relocated(stage) &&
              std::filesystem::exists(stage.temp().sessions() / "--work-other--" / kName / "1.bash.log");
     },
     Keeps::all_but_header},
    {"relocate of a log of pi", of_pi, relocate, is_relocated, Keeps::all_but_header},
    {"put back", relocated, put_back,
     [](Stage& stage) { return is_back(stage) && the_session(stage)->head().header.cwd == "/work/pi"; },
     Keeps::all_but_header},
    {"remove", with_artifacts, remove, is_in_trash},
    {"remove to another file system", with_artifacts, remove, is_in_trash, Keeps::all, true},
    {"undo of an append", appended, undo, is_not_written, Keeps::all_but_last},
    {"undo of a title in a slot", titled_in_a_slot, undo, is_not_written, Keeps::all_but_last},
    {"undo of a remove", in_trash, undo, is_back},
    {"undo of a remove to another file system", in_trash, undo, is_back, Keeps::all, true},
    {"restore", in_trash, restore, is_back},
    {"restore from another file system", in_trash, restore, is_back, Keeps::all, true},
};

/// For GoogleTest: the name without spaces.
inline std::string name_of(const ::testing::TestParamInfo<Act>& with) {
  std::string name = with.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

/// The settings that the acts need.
inline WriteSettings settings_of_acts() {
  WriteSettings settings;
  settings.allow_delete = true;
  return settings;
}

/// Prepares the act. The trash moves to the other file system last, so that a rename could fill it before.
inline SessionPtr prepare(const Act& act, Stage& stage, SplitDisk& disk) {
  auto session = act.prepare(stage);
  disk.set_apart(act.trash_is_apart ? trash_of(stage) : "");
  return session;
}

inline std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The log of s1 from every place that has it: the store, and the trash, whose notes say where it came from.
inline std::vector<std::string> logs_of_s1(Stage& stage) {
  const std::string file = std::string(kName) + ".jsonl";
  std::vector<std::filesystem::path> places;
  const auto folders = stage.store().folders();
  for (const auto& folder : folders ? *folders : std::vector<std::string>()) {
    places.push_back(stage.temp().sessions() / folder / file);
  }
  for (const auto& trashed : Trash(trash_of(stage)).list()) {
    places.emplace_back(trash_of(stage) + "/" + trashed.name + "/files/" + file);
  }
  std::vector<std::string> found;
  for (const auto& place : places) {
    if (std::filesystem::exists(place)) {
      found.push_back(bytes_of_file(place));
    }
  }
  return found;
}

inline std::size_t entries_of(const SessionPtr& session) {
  EXPECT_TRUE(session->refresh(Depth::index));
  const auto guard = session->read();
  return guard ? guard->index().size() : 0;
}

}  // namespace arborfs::testing
