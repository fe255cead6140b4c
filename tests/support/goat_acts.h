// Every operation of goat::Writer and Transfer that changes something, as tests/support/acts.h has them for omp: the
// session that it starts from, and a check that it was done. The session is s1; its first message is "one".
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/write/pair_repair.h"
#include "tests/support/conversations.h"
#include "tests/support/goat_stage.h"

namespace arborfs::testing {

inline constexpr const char* kGoatText = "what was written";
inline constexpr const char* kWorkFiles[] = {"a", "b", "c"};

inline const std::string& goat_messages() {
  static const std::string messages = GoatStage::line("u1", "user", "one") + GoatStage::line("u2", "assistant", "two");
  return messages;
}

inline void with_messages(GoatStage& stage) {
  stage.add("s1", goat_messages());
}
inline void without_messages(GoatStage& stage) {
  stage.add("s1", "");
}
inline void with_torn_end(GoatStage& stage) {
  stage.add("s1", goat_messages() + R"({"uuid":"u3","mess)");
}
inline void with_open_call(GoatStage& stage) {
  stage.add("s1", goat_messages() + R"({"uuid":"u3","message":{"role":"assistant","tool_calls":[{"id":"c1","type":)"
                                    R"("function","function":{"name":"read","arguments":"{}"}}]}})"
                                    "\n");
}
/// The working directory is as in the checkpoint "kept", except for the three files.
inline void with_edits(GoatStage& stage) {
  with_messages(stage);
  GoatStage::put(stage.work() + "/a", "old a");
  GoatStage::put(stage.work() + "/b", "old b");
  stage.start();
  EXPECT_TRUE(stage.writer().checkpoint(stage.session(), {"kept", {"a", "b", "c"}}));
  GoatStage::put(stage.work() + "/a", "new a");
  std::filesystem::remove(stage.work() + "/b");
  GoatStage::put(stage.work() + "/c", "new c");
}
inline void in_goat_trash(GoatStage& stage) {
  with_messages(stage);
  stage.start();
  EXPECT_TRUE(stage.writer().remove(stage.session()));
}

template <class Value>
Result<void> only_error(const Result<Value>& result) {
  return result ? Result<void>() : Result<void>(result.error());
}

inline Result<void> append_to_goat(GoatStage& stage, const std::string& text) {
  return only_error(stage.writer().append_text(stage.session(), {text, false, ""}));
}
inline bool has_text(GoatStage& stage) {
  return stage.file("messages.jsonl").find(kGoatText) != std::string::npos;
}
inline std::size_t goat_sessions(GoatStage& stage) {
  return stage.catalog().view()->by_id.size();
}
inline std::vector<Trashed> goat_trash(const GoatStage& stage) {
  return Trash(stage.settings().trash).list();
}

inline Result<void> remove_from_goat(GoatStage& stage) {
  return stage.writer().remove(stage.session());
}
inline bool is_in_goat_trash(GoatStage& stage) {
  return goat_sessions(stage) == 0 && goat_trash(stage).size() == 1;
}
inline Result<void> restore_to_goat(GoatStage& stage) {
  const auto all = goat_trash(stage);
  auto done = all.empty()
                  ? Result<void>(Errc::not_found, "the trash is empty")
                  : restore_session(stage.settings().trash, all.front(), stage.catalog().stores(), stage.disk());
  stage.catalog().rescan();
  return done;
}
inline bool is_back_in_goat(GoatStage& stage) {
  return stage.session() != nullptr;
}

struct GoatAct {
  const char* name;
  void (*prepare)(GoatStage&);
  Result<void> (*run)(GoatStage&);
  bool (*is_done)(GoatStage&);
  bool trash_is_apart = false;  // the trash is on another file system
};

inline const GoatAct kGoatActs[] = {
    {"append", with_messages, [](GoatStage& stage) { return append_to_goat(stage, kGoatText); }, has_text},
    {"append of the first message", without_messages, [](GoatStage& stage) { return append_to_goat(stage, kGoatText); },
     has_text},
    {"append behind a torn line", with_torn_end, [](GoatStage& stage) { return append_to_goat(stage, kGoatText); },
     has_text},
    {"append of many pages", with_messages,
     [](GoatStage& stage) { return append_to_goat(stage, kGoatText + std::string(20'000, 'x')); }, has_text},
    {"append to the transcript", with_messages,
     [](GoatStage& stage) {
       return only_error(stage.writer().append_text(stage.session(), {R"({"type":"result","uuid":"t1"})", true, ""}));
     },
     [](GoatStage& stage) { return stage.file("transcript.jsonl").ends_with("\"session_id\":\"s1\"}\n"); }},
    {"append of many pages to the transcript", with_messages,
     [](GoatStage& stage) {
       return only_error(stage.writer().append_text(
           stage.session(), {R"({"type":"result","text":")" + std::string(20'000, 'x') + "\"}", true, ""}));
     },
     [](GoatStage& stage) { return stage.file("transcript.jsonl").ends_with("x\"}\n"); }},
    {"results for calls without", with_open_call,
     [](GoatStage& stage) { return only_error(mend_pairs(stage.writer(), stage.session(), {})); },
     [](GoatStage& stage) { return stage.file("messages.jsonl").find("tool_call_id") != std::string::npos; }},
    {"title", with_messages,
     [](GoatStage& stage) { return only_error(stage.writer().set_title(stage.session(), kGoatText)); },
     [](GoatStage& stage) { return stage.session()->head().header.title == kGoatText; }},
    {"create", with_messages,
     [](GoatStage& stage) {
       NewSession wanted;
       wanted.cwd = "/work";
       return only_error(stage.writer().create(wanted));
     },
     [](GoatStage& stage) { return goat_sessions(stage) == 2; }},
    {"fork", with_messages, [](GoatStage& stage) { return only_error(stage.writer().fork(stage.session())); },
     [](GoatStage& stage) { return goat_sessions(stage) == 2; }},
    {"fork from another agent", with_messages,
     [](GoatStage& stage) { return only_error(stage.writer().adopt(testing::conversation_of(2, 100), "goat")); },
     [](GoatStage& stage) { return goat_sessions(stage) == 2; }},
    {"relocate", with_messages,
     [](GoatStage& stage) {
       return only_error(stage.writer().relocate(stage.session(), {stage.work(), "/moved"}));
     },
     [](GoatStage& stage) { return stage.session()->head().header.cwd == "/moved"; }},
    {"remove", with_messages, remove_from_goat, is_in_goat_trash},
    {"remove to another file system", with_messages, remove_from_goat, is_in_goat_trash, true},
    {"restore", in_goat_trash, restore_to_goat, is_back_in_goat},
    {"restore from another file system", in_goat_trash, restore_to_goat, is_back_in_goat, true},
    {"checkpoint", with_edits,
     [](GoatStage& stage) {
       return only_error(stage.writer().checkpoint(stage.session(), {"now", {"a", "c"}}));
     },
     [](GoatStage& stage) { return !stage.file("checkpoints/now/manifest.json").empty(); }},
    {"rewind", with_edits,
     [](GoatStage& stage) {
       const auto done = stage.writer().rewind(stage.session(), "kept", false);
       const bool is_complete = done && done->find("\"complete\":true") != std::string::npos;
       return is_complete ? Result<void>() : done ? Result<void>(Errc::io, *done) : Result<void>(done.error());
     },
     [](GoatStage& stage) {
       return GoatStage::read(stage.work() + "/a") == "old a" && GoatStage::read(stage.work() + "/b") == "old b" &&
              !std::filesystem::exists(stage.work() + "/c");
     }},
};

/// For GoogleTest: the name without spaces.
inline std::string name_of_goat_act(const ::testing::TestParamInfo<GoatAct>& with) {
  std::string name = with.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

}  // namespace arborfs::testing
