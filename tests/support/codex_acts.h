// Every operation that changes a store of Codex, as tests/support/acts.h has them for omp: the thread that it changes,
// and a check that it was done.
#pragma once

#include <filesystem>
#include <map>
#include <string>

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

inline Result<void> archive_in_codex(CodexStage& stage) {
  return stage.writer().set_mark(stage.session(), Mark::archived, true);
}
inline bool is_archived_in_codex(CodexStage& stage, bool wanted = true) {
  const auto thread = stage.session();
  return thread && is_marked(thread->store(), thread->place(), Mark::archived) == wanted &&
         stage.query(
             "SELECT archived, archived_at IS NOT NULL, rollout_path LIKE '%/archived_sessions/%' FROM threads "
             "WHERE id = '" +
             std::string(kPaginated) + "'") == (wanted ? "1|1|1\n" : "0|0|0\n");
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

template <const char* const& thread>
Result<void> relocate_thread(CodexStage& stage) {
  return error_alone(stage.writer().relocate(stage.session(thread), {"/work", "/moved/away"}));
}
template <const char* const& thread>
bool is_relocated(CodexStage& stage) {
  return stage.session(thread) && stage.session(thread)->head().header.cwd == "/moved/away" &&
         stage.query("SELECT cwd FROM threads WHERE id = '" + std::string(thread) + "'") == "/moved/away\n";
}
/// The text of a log without what a relocation changes.
inline std::string unmoved(std::string text) {
  const std::string moved = "/moved/away";
  const std::size_t at = text.find(moved);
  return at == std::string::npos ? text : text.replace(at, moved.size(), "/work");
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
    {"relocate", kPaginated, nothing_before, relocate_thread<kPaginated>, is_relocated<kPaginated>},
    {"relocate of a thread in whose file a branch begins", kPaginated,
     [](CodexStage& stage) {
       with_two_branches(stage);
       EXPECT_TRUE(stage.writer().branch(stage.session(), "#4"));
     },
     relocate_thread<kPaginated>, is_relocated<kPaginated>},
    {"relocate of a legacy thread", kLegacy, nothing_before, relocate_thread<kLegacy>, is_relocated<kLegacy>},
    {"archive", kPaginated, nothing_before, archive_in_codex,
     [](CodexStage& stage) { return is_archived_in_codex(stage); }},
    {"archive of two segments", kPaginated, with_two_branches, archive_in_codex,
     [](CodexStage& stage) { return is_archived_in_codex(stage); }},
    {"unarchive", kPaginated,
     [](CodexStage& stage) {
       stage.start();
       EXPECT_TRUE(archive_in_codex(stage));
     },
     [](CodexStage& stage) { return stage.writer().set_mark(stage.session(), Mark::archived, false); },
     [](CodexStage& stage) { return is_archived_in_codex(stage, false); }},
    {"pin", kPaginated, nothing_before,
     [](CodexStage& stage) { return stage.writer().set_mark(stage.session(), Mark::pinned, true); },
     [](CodexStage& stage) {
       return stage.query("SELECT section_position FROM threads WHERE thread_section_id IS NOT NULL") == "1000000\n";
     },
     false, true},
    {"queue", kPaginated, [](CodexStage& stage) { stage.make_queue(); },
     [](CodexStage& stage) { return append_to_codex(stage, kPaginated, R"({"queue":"what was written"})"); },
     [](CodexStage& stage) {
       return stage.queued("SELECT count(*) FROM queued_items WHERE payload_json LIKE '%what was written%'") == "1\n";
     },
     false, true},
    {"remove", kPaginated, nothing_before, remove_from_codex, is_in_codex_trash},
    {"remove to another file system", kPaginated, nothing_before, remove_from_codex, is_in_codex_trash, true},
    {"remove of two segments", kPaginated, with_two_branches, remove_from_codex, is_in_codex_trash},
    {"restore of two segments", kPaginated,
     [](CodexStage& stage) {
       with_two_branches(stage);
       in_codex_trash(stage);
     },
     [](CodexStage& stage) { return stage.restore_all(); }, is_back_in_codex},
    {"restore", kPaginated, in_codex_trash, [](CodexStage& stage) { return stage.restore_all(); }, is_back_in_codex},
    {"restore from another file system", kPaginated, in_codex_trash,
     [](CodexStage& stage) { return stage.restore_all(); }, is_back_in_codex, true},
};

/// The store as it was before an act.
struct CodexBefore {
  std::map<std::string, std::string> logs;  // by the names of their files
  std::string names;
  std::map<std::string, std::string> rows;  // by thread
};

/// The logs of the store and of the trash. The same log may be in both.
inline std::multimap<std::string, std::string> codex_logs(const CodexStage& stage) {
  std::multimap<std::string, std::string> found;
  for (const std::string& root : {stage.home(), stage.settings().trash}) {
    if (!std::filesystem::exists(root)) {
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && name.starts_with("rollout-")) {
        found.emplace(name, CodexStage::read(entry.path().string()));
      }
    }
  }
  return found;
}

inline CodexBefore codex_before(const CodexStage& stage) {
  CodexBefore before;
  for (const auto& [name, bytes] : codex_logs(stage)) {
    before.logs[name] = bytes;
  }
  before.names = stage.names();
  for (const char* thread : {kPaginated, kLegacy}) {
    before.rows[thread] = stage.row(thread);
  }
  return before;
}

inline void expect_codex_kept(CodexStage& stage, const CodexAct& act, const CodexBefore& before) {
  const auto logs = codex_logs(stage);
  for (const auto& [name, bytes] : before.logs) {
    const auto [first, last] = logs.equal_range(name);
    EXPECT_NE(first, last) << name << " is gone";
    for (auto log = first; log != last; ++log) {
      const bool is_own = name.find(act.thread) != std::string::npos;
      EXPECT_TRUE(is_own ? unmoved(log->second).starts_with(bytes) : log->second == bytes) << name << " has changed";
    }
  }
  EXPECT_TRUE(stage.names().starts_with(before.names));
  EXPECT_EQ(stage.query("PRAGMA integrity_check"), "ok\n");
  for (const auto& [thread, row] : before.rows) {
    const std::string name = act.name;
    const bool may_change = thread == act.thread &&
                            (name.starts_with("title") || name.starts_with("relocate") ||
                             name.find("branch") != name.npos || name.find("archive") != name.npos || name == "pin");
    EXPECT_TRUE(may_change || stage.row(thread) == row) << stage.row(thread);
  }
  for (const char* thread : {kPaginated, kLegacy}) {
    if (stage.session(thread)) {
      const auto written = append_to_codex(stage, thread, "the next one");
      EXPECT_TRUE(written) << written.error().message;
      EXPECT_NE(stage.context(thread).find("the next one"), std::string::npos);
    }
  }
}

/// For GoogleTest: the name without spaces.
inline std::string name_of_codex_act(const ::testing::TestParamInfo<CodexAct>& with) {
  std::string name = with.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

}  // namespace arborfs::testing
