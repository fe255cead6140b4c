// A store of Codex with a paginated and a legacy thread and the database that has their rows, a catalog and a writer
// over it. The tests of writing to threads use it.
#pragma once

#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/codex/format.h"
#include "core/formats/codex/writer.h"
#include "core/formats/registry.h"
#include "core/views/session_views.h"
#include "tests/support/sqlite_program.h"
#include "tests/support/temp_store.h"

namespace arborfs::testing {

inline constexpr const char* kPaginated = "019c4740-4400-7084-801f-aaaaaaaaaaa1";
inline constexpr const char* kLegacy = "019c4740-4400-7084-801f-aaaaaaaaaaa2";

/// The records of a segment. A legacy one has no ordinals.
class CodexSegment {
 public:
  CodexSegment(std::string thread, bool is_paginated, const std::string& more_meta = "", unsigned first = 0)
      : thread_(std::move(thread)), is_paginated_(is_paginated), next_(first) {
    add("session_meta", R"({"id":")" + thread_ +
                            R"(","timestamp":"2026-02-10T10:00:00.000Z","cwd":"/work","originator":)"
                            R"("codex-tui","cli_version":"0.171.0","source":"cli","model_provider":"openai")" +
                            (is_paginated ? R"(,"history_mode":"paginated")" : "") + more_meta + "}");
  }
  CodexSegment& turn(const std::string& prompt, const std::string& answer) {
    if (is_paginated_) {
      add("event_msg", R"({"type":"task_started","turn_id":"t","started_at":1})");
    }
    add("response_item", item("user", "input_text", prompt));
    add("event_msg", is_paginated_
                         ? R"({"type":"item_completed","item":{"type":"UserMessage","id":"u","content":[{"type":)"
                           R"("text","text":")" +
                               prompt + "\"}]}}"
                         : R"({"type":"user_message","message":")" + prompt + "\"}");
    add("response_item", item("assistant", "output_text", answer));
    if (is_paginated_) {
      add("event_msg", R"({"type":"task_complete","turn_id":"t","last_agent_message":")" + answer + "\"}");
    }
    return *this;
  }
  void add(const std::string& type, const std::string& payload) {
    text_ += R"({"timestamp":"2026-02-10T10:00:01.000Z",)" +
             (is_paginated_ ? "\"ordinal\":" + std::to_string(next_) + "," : std::string()) + R"("type":")" + type +
             R"(","payload":)" + payload + "}\n";
    ++next_;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] unsigned next() const { return next_; }
  static std::string item(const std::string& role, const std::string& type, const std::string& text) {
    return R"({"type":"message","role":")" + role + R"(","content":[{"type":")" + type + R"(","text":")" + text +
           "\"}]}";
  }

 private:
  const std::string thread_;
  const bool is_paginated_;
  unsigned next_;
  std::string text_;
};

class CodexStage {
 public:
  explicit CodexStage(Disk& disk = Disk::real(), WriteSettings settings = {}) : disk_(disk), settings_(settings) {
    settings_.trash = temp_.root() + "/trash";
    put(path_of(kPaginated), CodexSegment(kPaginated, true).turn("one", "two").text());
    put(path_of(kLegacy), CodexSegment(kLegacy, false).turn("one", "two").text());
    put(home() + "/session_index.jsonl",
        R"({"id":"another","thread_name":"Another","updated_at":"2026-02-10T10:00:00Z"})"
        "\n");
    SqliteProgram program(database());
    program.run(kSchema);
    add_row(kPaginated, "paginated", "First");
    add_row(kLegacy, "legacy", "First");
  }
  void add_row(const std::string& thread, const std::string& mode, const std::string& name) const {
    SqliteProgram(database())
        .run(
            "INSERT INTO threads(id,rollout_path,created_at,updated_at,source,model_provider,cwd,title,sandbox_policy,"
            "approval_mode,history_mode,name) VALUES('" +
            thread + "','" + path_of(thread) + "',1,2,'cli','openai','/work','one','{}','never','" + mode + "','" +
            name + "')");
  }
  /// As after a new mount.
  void start() {
    stop();
    catalog_ = std::make_unique<Catalog>(codex::make_store(home(), disk_), "/home/nobody", temp_.root() + "/state");
    catalog_->rescan();
    writer_ = std::make_unique<codex::Writer>(*catalog_, settings_);
    writer_->take_back_parts();
  }
  void stop() {
    writer_.reset();
    catalog_.reset();
  }

  [[nodiscard]] codex::Writer& writer() { return *writer_; }
  [[nodiscard]] Catalog& catalog() { return *catalog_; }
  [[nodiscard]] Disk& disk() { return disk_; }
  [[nodiscard]] const WriteSettings& settings() const { return settings_; }
  /// Null if it is gone.
  [[nodiscard]] SessionPtr session(const std::string& thread = kPaginated) {
    const auto view = catalog_->view();
    const auto found =
        std::find_if(view->by_id.begin(), view->by_id.end(), [&](const auto& one) { return one.first == thread; });
    return found == view->by_id.end() ? nullptr : found->second;
  }
  [[nodiscard]] std::size_t sessions() const { return catalog_->view()->by_id.size(); }
  [[nodiscard]] std::string root() const { return temp_.root(); }
  [[nodiscard]] std::string home() const { return temp_.root() + "/codex"; }
  [[nodiscard]] std::string database() const { return home() + "/state_5.sqlite"; }
  [[nodiscard]] std::string path_of(const std::string& thread) const {
    return home() + "/sessions/2026/02/10/rollout-2026-02-10T10-00-00-" + thread + ".jsonl";
  }
  [[nodiscard]] std::string lock_of(const std::string& thread) const {
    return home() + "/thread-writer-locks/" + thread + ".lock";
  }
  [[nodiscard]] std::string log(const std::string& thread = kPaginated) const { return read(path_of(thread)); }
  [[nodiscard]] std::string names() const { return read(home() + "/session_index.jsonl"); }
  std::string query(const std::string& sql) const { return SqliteProgram(database()).run(sql); }
  [[nodiscard]] std::string row(const std::string& thread = kPaginated) const {
    return query("SELECT * FROM threads WHERE id = '" + thread + "'");
  }
  [[nodiscard]] std::string title(const std::string& thread = kPaginated) {
    const auto one = session(thread);
    return one && one->refresh(Depth::head) ? one->title() : "";
  }
  /// context.json of a thread.
  [[nodiscard]] std::string context(const std::string& thread = kPaginated) {
    const auto one = session(thread);
    EXPECT_TRUE(one->refresh(Depth::details));
    const auto view = make_view(*one, *find_view("context.json"), 0, *catalog_);
    EXPECT_TRUE(view) << view.error().message;
    return view ? *view->content->read_all() : "";
  }
  Result<void> restore_all() {
    for (const Trashed& one : Trash(settings_.trash, disk_).list()) {
      if (auto done = restore_session(settings_.trash, one, catalog_->stores(), disk_); !done) {
        return done;
      }
    }
    catalog_->rescan();
    return {};
  }

  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::string& path, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }

  /// Codex's queue of messages, and a query on it.
  [[nodiscard]] std::string queue() const { return home() + "/queue_1.sqlite"; }
  void make_queue() const { SqliteProgram(queue()).run(kQueueSchema); }
  std::string queued(const std::string& sql) const { return SqliteProgram(queue()).run(sql); }
  static constexpr const char* kQueueSchema =
      "CREATE TABLE queued_items (id TEXT PRIMARY KEY NOT NULL, thread_id TEXT NOT NULL, payload_json TEXT NOT NULL, "
      "queue_order INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL);"
      "CREATE UNIQUE INDEX by_order ON queued_items(thread_id, queue_order);"
      "CREATE TABLE queued_thread_revisions (revision INTEGER PRIMARY KEY AUTOINCREMENT, thread_id TEXT NOT NULL "
      "UNIQUE);"
      "CREATE TRIGGER after_insert AFTER INSERT ON queued_items BEGIN INSERT INTO queued_thread_revisions(thread_id) "
      "VALUES(NEW.thread_id) ON CONFLICT(thread_id) DO UPDATE SET revision = (SELECT coalesce(max(revision), 0) + 1 "
      "FROM queued_thread_revisions); END;"
      "CREATE TRIGGER after_delete AFTER DELETE ON queued_items BEGIN INSERT INTO queued_thread_revisions(thread_id) "
      "VALUES(OLD.thread_id) ON CONFLICT(thread_id) DO UPDATE SET revision = (SELECT coalesce(max(revision), 0) + 1 "
      "FROM queued_thread_revisions); END;";

  /// The columns that arborfs reads or sets, of the schema of 0.171.
  static constexpr const char* kSchema =
      "CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL, "
      "updated_at INTEGER NOT NULL, source TEXT NOT NULL, model_provider TEXT NOT NULL, cwd TEXT NOT NULL, "
      "title TEXT NOT NULL, sandbox_policy TEXT NOT NULL, approval_mode TEXT NOT NULL, archived INTEGER NOT NULL "
      "DEFAULT 0, archived_at INTEGER, thread_section_id TEXT, section_position INTEGER, section_entered_at_ms "
      "INTEGER, "
      "cli_version TEXT NOT NULL DEFAULT '', first_user_message TEXT NOT NULL DEFAULT '', created_at_ms "
      "INTEGER, preview TEXT NOT NULL DEFAULT '', history_mode TEXT NOT NULL DEFAULT 'legacy', name TEXT);"
      "CREATE TRIGGER threads_created_at_ms_after_insert AFTER INSERT ON threads WHEN NEW.created_at_ms IS NULL "
      "BEGIN UPDATE threads SET created_at_ms = NEW.created_at * 1000 WHERE id = NEW.id; END;"
      "CREATE TABLE thread_sections (id TEXT PRIMARY KEY, name TEXT NOT NULL);"
      "INSERT INTO thread_sections VALUES('01984de2-8f74-7c91-a3b2-5c5e937cf318', 'Pinned');"
      "CREATE TABLE thread_spawn_edges (parent_thread_id TEXT NOT NULL, child_thread_id TEXT NOT NULL PRIMARY KEY, "
      "status TEXT NOT NULL);";

 private:
  TempStore temp_{memory_folder()};
  Disk& disk_;
  WriteSettings settings_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<codex::Writer> writer_;
};

}  // namespace arborfs::testing
