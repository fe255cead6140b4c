// Every operation of claude::Writer and Transfer that changes a session of Claude Code, as tests/support/acts.h has
// them for omp: the session that it starts from, and a check that it was done. The prompt u1 is answered by a1, the
// leaf.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/claude/format.h"
#include "core/formats/claude/writer.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "tests/support/split_disk.h"
#include "tests/support/temp_store.h"

namespace arborfs::testing {

inline constexpr const char* kClaudeId = "11111111-1111-4111-8111-111111111111";
inline constexpr const char* kClaudeText = "what was written";

/// A folder of Claude Code with one session in the project -work, a catalog and a writer.
class ClaudeStage {
 public:
  explicit ClaudeStage(Disk& disk = Disk::real(), WriteSettings settings = {})
      : disk_(disk), settings_(std::move(settings)) {
    settings_.trash = root() + "/trash";
    std::filesystem::create_directories(config() + "/projects/-work");
  }
  /// As after a new mount.
  void start() {
    stop();
    catalog_ = std::make_unique<Catalog>(claude::make_store(config(), disk_), "/home/nobody", root() + "/state");
    catalog_->rescan();
    writer_ = std::make_unique<claude::Writer>(*catalog_, settings_);
    writer_->take_back_parts();
  }
  void stop() {
    writer_.reset();
    catalog_.reset();
  }
  /// A file of the folder, with the folders above it.
  void put(const std::string& path, const std::string& bytes) const {
    const std::filesystem::path file = config() + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
  }
  void put_log(const std::string& bytes) const { put(log(), bytes); }

  [[nodiscard]] claude::Writer& writer() { return *writer_; }
  [[nodiscard]] Catalog& catalog() { return *catalog_; }
  [[nodiscard]] Disk& disk() { return disk_; }
  [[nodiscard]] const WriteSettings& settings() const { return settings_; }
  [[nodiscard]] std::string root() const { return temp_.root(); }
  [[nodiscard]] std::string config() const { return temp_.root() + "/claude"; }
  [[nodiscard]] static std::string log() { return std::string("projects/-work/") + kClaudeId + ".jsonl"; }
  [[nodiscard]] SessionPtr session() { return catalog_->at({"-work", std::string(kClaudeId) + ".jsonl"}); }
  [[nodiscard]] std::string bytes() const { return read(config() + "/" + log()); }
  [[nodiscard]] std::vector<Trashed> trash() const { return Trash(settings_.trash).list(); }
  /// The files below a folder and their bytes, by their paths in it; links count as what they lead to in words.
  [[nodiscard]] static std::map<std::string, std::string> files_in(const std::string& folder) {
    std::map<std::string, std::string> found;
    if (!std::filesystem::exists(folder)) {
      return found;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string name = std::filesystem::relative(entry.path(), folder).string();
      if (entry.is_symlink()) {
        found[name] = std::filesystem::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        found[name] = read(entry.path().string());
      }
    }
    return found;
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// What the model would get.
  [[nodiscard]] std::string context() {
    const auto session = this->session();
    EXPECT_TRUE(session && session->refresh(Depth::index));
    const auto guard = session->read();
    const auto content =
        session->format().renderer->context(context_path(guard->index(), guard->leaf()), guard->log(), nullptr);
    const auto all = content ? (*content)->read_all() : Result<std::string>(content.error());
    return all ? *all : "";
  }
  [[nodiscard]] std::string leaf() {
    EXPECT_TRUE(session()->refresh(Depth::index));
    const auto guard = session()->read();
    return guard->leaf() == kNoEntry ? "root" : guard->index().id(guard->leaf()).text;
  }

  /// A row with the members that all rows of the program have.
  static std::string row(const std::string& type, const std::string& uuid, const std::string& parent,
                         const std::string& message) {
    return R"({"parentUuid":)" + (parent.empty() ? "null" : '"' + parent + '"') + R"(,"isSidechain":false,"type":")" +
           type + R"(","message":)" + message + R"(,"uuid":")" + uuid +
           R"(","timestamp":"2026-05-01T10:00:00.000Z","userType":"external","entrypoint":"cli","cwd":"/work",)"
           R"("sessionId":")" +
           kClaudeId + R"(","version":"2.1.332","gitBranch":"main"})" + "\n";
  }
  static std::string prompt(const std::string& uuid, const std::string& parent, const std::string& text) {
    return row("user", uuid, parent, R"({"role":"user","content":")" + text + "\"}");
  }
  static std::string answer(const std::string& uuid, const std::string& parent, const std::string& message,
                            const std::string& block) {
    return row("assistant", uuid, parent,
               R"({"id":")" + message + R"(","role":"assistant","content":[)" + block + "]}");
  }
  static std::string text_block(const std::string& text) { return R"({"type":"text","text":")" + text + "\"}"; }
  static std::string pin(const std::string& leaf) {
    return R"({"type":"last-prompt","lastPrompt":"one","leafUuid":")" + leaf + R"(","sessionId":")" + kClaudeId +
           "\"}\n";
  }
  static std::string rows() {
    return prompt("u1", "", "one") + answer("a1", "u1", "m1", text_block("two")) + pin("a1");
  }

 private:
  TempStore temp_{memory_folder()};
  Disk& disk_;
  WriteSettings settings_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<claude::Writer> writer_;
};

inline void with_rows(ClaudeStage& stage) {
  stage.put_log(ClaudeStage::rows());
}
inline void with_torn_row(ClaudeStage& stage) {
  stage.put_log(ClaudeStage::rows() + R"({"type":"user","uu)");
}
/// The paths of other files of the session.
inline std::vector<std::string> claude_belongings() {
  const std::string id = kClaudeId;
  return {"projects/-work/" + id + "/subagents/agent-77.jsonl", "projects/-work/" + id + "/tool-results/t.txt",
          "projects/-work/agent-old.jsonl", "todos/" + id + "-agent-" + id + ".json"};
}
/// The paths of files beside them that are not the session's.
inline std::vector<std::string> claude_files_of_others() {
  return {"projects/-work/agent-other.jsonl", "todos/other-agent-other.json"};
}
inline void with_belongings(ClaudeStage& stage) {
  with_rows(stage);
  for (const std::string& path : claude_belongings()) {
    stage.put(path, path.ends_with(".jsonl") ? ClaudeStage::prompt("x1", "", "job") : "of " + path);
  }
  for (const std::string& path : claude_files_of_others()) {
    stage.put(path, "of " + path);
  }
}
inline void with_named_belongings(ClaudeStage& stage) {
  with_belongings(stage);
  stage.put_log(ClaudeStage::prompt("u1", "", "agent 77, see tool-results/t.txt") +
                ClaudeStage::answer("a1", "u1", "m1", ClaudeStage::text_block("two")) + ClaudeStage::pin("a1"));
}
inline void in_claude_trash(ClaudeStage& stage) {
  with_belongings(stage);
  stage.start();
  EXPECT_TRUE(stage.writer().remove(stage.session()));
}

namespace claude_acts {

template <class Value>
Result<void> only_error(const Result<Value>& result) {
  return result ? Result<void>() : Result<void>(result.error());
}
inline Result<void> append(ClaudeStage& stage, const std::string& text, bool is_json = false,
                           const std::string& at = "") {
  return only_error(stage.writer().append_text(stage.session(), {text, is_json, at}));
}
inline bool is_written(ClaudeStage& stage) {
  return stage.context().find(kClaudeText) != std::string::npos;
}
/// A fork of the session, whose rows name a sub-agent and an output.
inline Result<void> fork(ClaudeStage& stage) {
  auto said = read_conversation(stage.session(), "");
  return said ? only_error(stage.writer().adopt_own(stage.session(), {"claude", "", "", ""}, *said))
              : Result<void>(said.error());
}
inline bool has_fork(ClaudeStage& stage) {
  const auto files = ClaudeStage::files_in(stage.config());
  return std::count_if(files.begin(), files.end(), [](const auto& file) {
           return file.first.ends_with("/subagents/agent-77.jsonl") || file.first.ends_with("/tool-results/t.txt");
         }) == 4;
}
inline Result<void> archive(ClaudeStage& stage, bool is_set) {
  return stage.writer().set_mark(stage.session(), Mark::archived, is_set);
}
inline bool is_archived(ClaudeStage& stage) {
  return is_marked(stage.session()->store(), stage.session()->place(), Mark::archived);
}
inline Result<void> remove(ClaudeStage& stage) {
  return stage.writer().remove(stage.session());
}
inline bool is_in_trash(ClaudeStage& stage) {
  return stage.session() == nullptr && stage.trash().size() == 1;
}
inline Result<void> restore(ClaudeStage& stage) {
  const auto all = stage.trash();
  auto done = all.empty()
                  ? Result<void>(Errc::not_found, "the trash is empty")
                  : restore_session(stage.settings().trash, all.front(), stage.catalog().stores(), stage.disk());
  stage.catalog().rescan();
  return done;
}
inline bool is_back(ClaudeStage& stage) {
  const auto there = ClaudeStage::files_in(stage.config());
  const auto paths = claude_belongings();
  return stage.session() != nullptr &&
         std::all_of(paths.begin(), paths.end(), [&](const std::string& path) { return there.contains(path); });
}

inline constexpr const char* kMovedTo = "/moved";
inline SessionPtr moved_session(ClaudeStage& stage) {
  return stage.catalog().at({"-moved", std::string(kClaudeId) + ".jsonl"});
}
inline void moved(ClaudeStage& stage) {
  with_belongings(stage);
  stage.start();
  EXPECT_TRUE(stage.writer().relocate(stage.session(), {"/work", kMovedTo}));
}
inline bool is_moved(ClaudeStage& stage) {
  const auto session = moved_session(stage);
  return session && session->head().header.cwd == kMovedTo;
}
/// Without the row that the move appended.
inline Result<void> put_back(ClaudeStage& stage) {
  const auto session = moved_session(stage);
  auto made = stage.writer().check_relocation(session, {kMovedTo, "/work"});
  EXPECT_TRUE(made) << made.error().message;
  const std::string row =
      R"({"type":"relocated","relocatedCwd":"/moved","sessionId":")" + std::string(kClaudeId) + "\"}\n";
  Relocation& back = *made;
  back.edits = {{"", session->place().file, back.edits.at(0).offset - row.size(), row, ""}};
  return stage.writer().put_back({reversed(back)});
}

}  // namespace claude_acts

struct ClaudeAct {
  const char* name;
  void (*prepare)(ClaudeStage&);
  Result<void> (*run)(ClaudeStage&);
  bool (*is_done)(ClaudeStage&);
  bool trash_is_apart = false;  // the trash is on another file system
};

inline const ClaudeAct kClaudeActs[] = {
    {"append", with_rows, [](ClaudeStage& stage) { return claude_acts::append(stage, kClaudeText); },
     claude_acts::is_written},
    {"append behind a torn row", with_torn_row,
     [](ClaudeStage& stage) { return claude_acts::append(stage, kClaudeText); }, claude_acts::is_written},
    {"append of many pages", with_rows,
     [](ClaudeStage& stage) { return claude_acts::append(stage, kClaudeText + std::string(20'000, 'x')); },
     claude_acts::is_written},
    {"append of a turn", with_rows,
     [](ClaudeStage& stage) {
       return claude_acts::append(
           stage,
           R"({"role":"user","content":"more"}{"role":"assistant","content":")" + std::string(kClaudeText) + "\"}",
           true);
     },
     claude_acts::is_written},
    {"append of a note", with_rows,
     [](ClaudeStage& stage) {
       return claude_acts::append(stage, R"({"note":")" + std::string(kClaudeText) + "\"}", true);
     },
     claude_acts::is_written},
    {"append to another branch", with_rows,
     [](ClaudeStage& stage) { return claude_acts::append(stage, kClaudeText, false, "u1"); }, claude_acts::is_written},
    {"branch", with_rows,
     [](ClaudeStage& stage) { return claude_acts::only_error(stage.writer().branch(stage.session(), "u1")); },
     [](ClaudeStage& stage) { return stage.leaf() == "u1"; }},
    {"title", with_rows,
     [](ClaudeStage& stage) { return claude_acts::only_error(stage.writer().set_title(stage.session(), kClaudeText)); },
     [](ClaudeStage& stage) { return stage.session()->head().header.title == kClaudeText; }},
    {"tag", with_rows,
     [](ClaudeStage& stage) {
       return claude_acts::only_error(stage.writer().change_tags(stage.session(), {{"blue"}, {}}));
     },
     [](ClaudeStage& stage) { return stage.session()->noted()->tags == Notes::Tags{"blue"}; }},
    {"fork", with_named_belongings, claude_acts::fork, claude_acts::has_fork},
    {"archive", with_rows, [](ClaudeStage& stage) { return claude_acts::archive(stage, true); },
     [](ClaudeStage& stage) { return claude_acts::is_archived(stage); }},
    {"unarchive",
     [](ClaudeStage& stage) {
       with_rows(stage);
       stage.start();
       EXPECT_TRUE(claude_acts::archive(stage, true));
     },
     [](ClaudeStage& stage) { return claude_acts::archive(stage, false); },
     [](ClaudeStage& stage) { return !claude_acts::is_archived(stage); }},
    {"remove", with_belongings, claude_acts::remove, claude_acts::is_in_trash},
    {"remove to another file system", with_belongings, claude_acts::remove, claude_acts::is_in_trash, true},
    {"relocate", with_belongings,
     [](ClaudeStage& stage) {
       return claude_acts::only_error(stage.writer().relocate(stage.session(), {"/work", claude_acts::kMovedTo}));
     },
     claude_acts::is_moved},
    {"put back", claude_acts::moved, claude_acts::put_back,
     [](ClaudeStage& stage) {
       return claude_acts::is_back(stage) && stage.session()->head().header.cwd == "/work" &&
              stage.bytes() == ClaudeStage::rows();
     }},
    {"restore", in_claude_trash, claude_acts::restore, claude_acts::is_back},
    {"restore from another file system", in_claude_trash, claude_acts::restore, claude_acts::is_back, true},
};

using ClaudeFiles = std::map<std::string, std::string>;  // bytes, by path

/// The files of the program's folder, and those of the trash, by their path in the program's folder.
inline std::vector<ClaudeFiles> claude_places(const ClaudeStage& stage) {
  std::vector<ClaudeFiles> found{ClaudeStage::files_in(stage.config())};
  for (const Trashed& trashed : stage.trash()) {
    found.push_back(ClaudeStage::files_in(stage.settings().trash + "/" + trashed.name + "/files"));
  }
  return found;
}

/// Every file that was there has its bytes in some place, the transcript at its beginning; the session is complete
/// where its transcript is. A session that moves to another project is in two places while it moves.
inline void expect_claude_kept(const ClaudeStage& stage, ClaudeFiles before) {
  auto now = claude_places(stage);
  for (ClaudeFiles* const files : {&before, &now.front()}) {
    for (auto [path, bytes] : ClaudeFiles(*files)) {
      if (const std::string moved = "projects/-moved/"; path.starts_with(moved)) {
        files->erase(path);
        files->emplace("projects/-work/" + path.substr(moved.size()), bytes.substr(0, bytes.find(R"({"type":"reloc)")));
      }
    }
  }
  for (const auto& [path, bytes] : before) {
    const bool is_log = path == ClaudeStage::log();
    EXPECT_TRUE(std::any_of(now.begin(), now.end(), [&, &path = path, &bytes = bytes](const ClaudeFiles& files) {
      const auto file = files.find(path);
      const bool is_mark = path.ends_with("/archived.json");  // which acts replace
      return file != files.end() && (is_log    ? file->second.starts_with(bytes)
                                     : is_mark ? file->second.starts_with(R"({"archived":)")
                                               : file->second == bytes);
    })) << path;
  }
  EXPECT_TRUE(std::any_of(now.begin(), now.end(), [&](const ClaudeFiles& files) {
    return files.contains(ClaudeStage::log());
  })) << "the session is gone";
}

inline void expect_next_claude_append(ClaudeStage& stage) {
  if (!stage.session()) {
    return;
  }
  const std::string before = stage.bytes();
  const auto written = claude_acts::append(stage, "the next one");
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_TRUE(stage.bytes().starts_with(before));
  stage.start();
  EXPECT_NE(stage.context().find("the next one"), std::string::npos);
}

/// The files that there are before the act, in whatever place.
inline ClaudeFiles prepare_claude_act(const ClaudeAct& act, ClaudeStage& stage, SplitDisk& disk) {
  act.prepare(stage);
  stage.start();
  disk.set_apart(act.trash_is_apart ? stage.settings().trash : "");
  ClaudeFiles all;
  for (const ClaudeFiles& files : claude_places(stage)) {
    all.insert(files.begin(), files.end());
  }
  return all;
}

/// For GoogleTest: the name without spaces.
inline std::string name_of_claude_act(const ::testing::TestParamInfo<ClaudeAct>& with) {
  std::string name = with.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

}  // namespace arborfs::testing
