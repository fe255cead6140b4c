// Every operation that changes a store of Codex, as tests/support/acts.h has them for omp: the thread that it changes,
// and a check that it was done.
#pragma once

#include <string>
#include <vector>

#include "tests/support/codex_stage.h"
#include "tests/support/conversations.h"

namespace arborfs::testing {

inline constexpr const char* kCodexText = "what was written";

template <class Value>
Result<void> error_alone(const Result<Value>& result) {
  return result ? Result<void>() : Result<void>(result.error());
}

struct CodexAct {
  const char* name;
  const char* thread;
  void (*prepare)(CodexStage&);
  Result<void> (*run)(CodexStage&);
  bool (*is_done)(CodexStage&);
  bool trash_is_apart = false;  // the trash is on another file system
  bool is_in_rows = false;      // it changes only the database
};

inline void nothing_before(CodexStage& /*stage*/) {}

inline void torn_before(CodexStage& stage) {
  std::ofstream(stage.path_of(kPaginated), std::ios::app) << R"({"timestamp":"2026)";
}

inline Result<void> append_to_codex(CodexStage& stage, const std::string& thread, const std::string& text) {
  return error_alone(stage.writer().append_text(stage.session(thread), {text, text.starts_with('{'), ""}));
}

template <const char* const& thread>
Result<void> append_text_to(CodexStage& stage) {
  return append_to_codex(stage, thread, kCodexText);
}
template <const char* const& thread>
bool has_text_in(CodexStage& stage) {
  return stage.session(thread) && stage.context(thread).find(kCodexText) != std::string::npos;
}
template <const char* const& thread>
Result<void> title_of(CodexStage& stage) {
  return error_alone(stage.writer().set_title(stage.session(thread), kCodexText));
}
template <const char* const& thread>
bool has_title(CodexStage& stage) {
  return stage.title(thread) == kCodexText;
}

inline void two_turns(CodexStage& stage) {
  for (const bool is_paginated : {true, false}) {
    const char* const thread = is_paginated ? kPaginated : kLegacy;
    CodexStage::put(stage.path_of(thread),
                    CodexSegment(thread, is_paginated).turn("one", "two").turn("three", "four").text());
  }
}
template <const char* const& thread>
Result<void> branch_to_the_first_turn(CodexStage& stage) {
  return error_alone(stage.writer().branch(stage.session(thread), "#2"));
}
template <const char* const& thread>
bool has_only_the_first_turn(CodexStage& stage) {
  const std::string context = stage.context(thread);
  return context.find("two") != std::string::npos && context.find("three") == std::string::npos;
}
inline void with_two_branches(CodexStage& stage) {
  two_turns(stage);
  stage.start();
  EXPECT_TRUE(branch_to_the_first_turn<kPaginated>(stage));
}

inline Result<void> remove_from_codex(CodexStage& stage) {
  return stage.writer().remove(stage.session());
}
inline void in_codex_trash(CodexStage& stage) {
  stage.start();
  EXPECT_TRUE(remove_from_codex(stage));
}
inline bool is_in_codex_trash(CodexStage& stage) {
  return !stage.session() && Trash(stage.settings().trash).list().size() == 1;
}
inline bool is_back_in_codex(CodexStage& stage) {
  return stage.session() && stage.title() == "First";
}

inline const CodexAct kCodexActs[] = {
    {"append", kPaginated, nothing_before, append_text_to<kPaginated>, has_text_in<kPaginated>},
    {"append to a legacy thread", kLegacy, nothing_before, append_text_to<kLegacy>, has_text_in<kLegacy>},
    {"append behind a torn line", kPaginated, torn_before, append_text_to<kPaginated>, has_text_in<kPaginated>},
    {"append of many pages", kPaginated, nothing_before,
     [](CodexStage& stage) { return append_to_codex(stage, kPaginated, kCodexText + std::string(20'000, 'x')); },
     has_text_in<kPaginated>},
    {"append of a turn", kPaginated, nothing_before,
     [](CodexStage& stage) {
       return append_to_codex(stage, kPaginated,
                              R"({"role":"user","content":"three"}{"role":"assistant","content":"what was written"})");
     },
     has_text_in<kPaginated>},
    {"title", kPaginated, nothing_before, title_of<kPaginated>, has_title<kPaginated>},
    {"title of a legacy thread", kLegacy, nothing_before, title_of<kLegacy>, has_title<kLegacy>},
    {"fork from another agent", kPaginated, nothing_before,
     [](CodexStage& stage) { return error_alone(stage.writer().adopt(conversation_of(2, 100), "codex")); },
     [](CodexStage& stage) {
       return stage.sessions() == 3 && stage.query("SELECT count(*) FROM threads WHERE name = 'Kites'") == "1\n";
     }},
    {"branch", kPaginated, two_turns, branch_to_the_first_turn<kPaginated>, has_only_the_first_turn<kPaginated>},
    {"branch of a legacy thread", kLegacy, two_turns, branch_to_the_first_turn<kLegacy>,
     has_only_the_first_turn<kLegacy>},
    {"return to a branch", kPaginated, with_two_branches,
     [](CodexStage& stage) { return error_alone(stage.writer().branch(stage.session(), "#4")); },
     [](CodexStage& stage) { return stage.context().find("four") != std::string::npos; }, false, true},
    {"remove", kPaginated, nothing_before, remove_from_codex, is_in_codex_trash},
    {"remove to another file system", kPaginated, nothing_before, remove_from_codex, is_in_codex_trash, true},
    {"restore", kPaginated, in_codex_trash, [](CodexStage& stage) { return stage.restore_all(); }, is_back_in_codex},
    {"restore from another file system", kPaginated, in_codex_trash,
     [](CodexStage& stage) { return stage.restore_all(); }, is_back_in_codex, true},
};

/// For GoogleTest: the name without spaces.
inline std::string name_of_codex_act(const ::testing::TestParamInfo<CodexAct>& with) {
  std::string name = with.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

}  // namespace arborfs::testing
