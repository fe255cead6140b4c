// Every operation that changes a store of OpenCode, in both kinds of stores. Each row gives the session it starts from
// and a check that it was done. The tests that fail each call, or cut the power after it, run all of these.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/formats/opencode/writer.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/write/trash.h"
#include "tests/support/conversations.h"
#include "tests/support/opencode_database.h"

namespace arborfs::conformance {

inline constexpr const char* kOpenCodeParent = "Explore with subagent";
inline constexpr const char* kOpenCodePlain = "Greeting script (renamed)";
inline constexpr const char* kOpenCodeMarker = "what was written";
inline constexpr const char* kOpenCodeMoved = "/moved/away";

/// A copy of a sample store with a writer on it, and a trash.
class OpenCodeStage {
 public:
  /// `sample`: "files" for a small store in files, or a sample with a database of 1.18.
  OpenCodeStage(const std::string& sample, Disk& disk) : disk_(disk) {
    if (sample == "files") {
      make_small_files(folder());
    } else {
      fs::copy(opencode_stores() / sample, folder(), fs::copy_options::recursive);
      keep_few_rows();
    }
    start();
    work_ = titled(kOpenCodePlain)->head().header.cwd;
  }
  void stop() {
    writer_.reset();
    catalog_.reset();
  }
  void start() {
    stop();
    auto stores = open_stores({{"opencode", folder().string(), false}}, Access::write, disk_);
    EXPECT_TRUE(stores);
    catalog_ = std::make_unique<Catalog>(*stores, "/home/dev", root() + "/state");
    catalog_->rescan();
    WriteSettings settings;
    settings.allow_delete = true;
    settings.trash = trash();
    writer_ = std::make_unique<opencode::Writer>(*catalog_, settings);
    writer_->take_back_parts();
  }
  [[nodiscard]] std::string root() const { return temp_.root(); }
  [[nodiscard]] fs::path folder() const { return fs::path(temp_.root()) / "opencode"; }
  [[nodiscard]] std::string database() const { return (folder() / "opencode.db").string(); }
  [[nodiscard]] std::string trash() const { return temp_.root() + "/trash"; }
  [[nodiscard]] bool is_in_files() const { return !fs::exists(database()); }
  [[nodiscard]] Writer& writer() { return *writer_; }
  [[nodiscard]] Catalog& catalog() { return *catalog_; }
  [[nodiscard]] std::size_t sessions() const { return catalog_->view()->by_id.size(); }
  /// The first working directory of the session that is called kOpenCodePlain.
  [[nodiscard]] const std::string& work() const { return work_; }
  /// Null if there is none.
  [[nodiscard]] SessionPtr titled(const std::string& title) const {
    SessionPtr found;
    const auto view = catalog_->view();
    for (const auto& [id, one] : view->by_id) {
      found = one->head().header.title == title ? one : found;
    }
    return found;
  }
  Result<void> restore_all() {
    for (const Trashed& one : Trash(trash(), disk_).list()) {
      if (auto done = restore_session(trash(), one, catalog_->stores(), disk_); !done) {
        return done;
      }
    }
    catalog_->rescan();
    return {};
  }

  /// The store in pieces: each file with its text, or each row. Those of the sessions' own data begin with "session|".
  /// A project that was moved is as before.
  [[nodiscard]] std::vector<std::string> pieces() const {
    auto found = is_in_files() ? files() : rows();
    for (std::string& piece : found) {
      const std::size_t moved = piece.starts_with("project") ? piece.find(kOpenCodeMoved) : std::string::npos;
      piece = moved == std::string::npos ? std::move(piece)
                                         : piece.replace(moved, std::string(kOpenCodeMoved).size(), work_);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// The states of the store that another program may see at any time: no torn file or row, no file that OpenCode would
  /// take for a message, and no message without its part, unless it is in the trash.
  void expect_sound() const {
    if (is_in_files()) {
      expect_sound_files();
      return;
    }
    Program program(database());
    EXPECT_EQ(program.run("PRAGMA integrity_check"), "ok\n");
    EXPECT_EQ(program.run("PRAGMA foreign_key_check"), "");
    EXPECT_EQ(program.run("SELECT id FROM message WHERE id NOT IN (SELECT message_id FROM part)"), "");
  }

 private:
  /// Only the sessions that the acts need, so that loops over all possible failures are quick.
  void keep_few_rows() const {
    Program program(database());
    const std::string others =
        std::string("(SELECT id FROM session WHERE title NOT LIKE 'Explore%' AND title <> '") + kOpenCodePlain + "')";
    program.run("PRAGMA foreign_keys=ON; DELETE FROM event_sequence WHERE aggregate_id IN " + others +
                "; DELETE FROM session WHERE id IN " + others + "; VACUUM");
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> found;
    const fs::path storage = folder() / "storage";
    for (const auto& entry : fs::recursive_directory_iterator(storage)) {
      if (entry.is_regular_file()) {
        const std::string name = fs::relative(entry.path(), storage).string();
        found.push_back((name.starts_with("session/") ? "session|" : "") + name + "|" + file_text(entry.path()));
      }
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> rows() const {
    std::vector<std::string> found;
    Program program(database());
    std::istringstream tables(program.run("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"));
    for (std::string table; std::getline(tables, table);) {
      std::istringstream rows(program.run("SELECT '" + table + "', * FROM \"" + table + "\""));
      for (std::string row; std::getline(rows, row);) {
        found.push_back(row);
      }
    }
    return found;
  }
  void expect_sound_files() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder() / "storage")) {
      const fs::path& path = entry.path();
      const std::string name = "/" + fs::relative(path, folder() / "storage").string();
      const bool is_hidden = name.find("/.") != std::string::npos;  // OpenCode does not look there
      if (!entry.is_regular_file() || is_hidden || path.filename() == "migration") {
        continue;
      }
      EXPECT_EQ(path.extension(), ".json") << path;
      json::Document document;
      EXPECT_TRUE(json::parse(file_text(path), document)) << path;
      if (path.parent_path().parent_path().filename() == "message" && Trash(trash()).list().empty()) {
        const fs::path parts = folder() / "storage" / "part" / path.stem();
        EXPECT_TRUE(fs::exists(parts) && !fs::is_empty(parts)) << path << " has no part";
      }
    }
  }

  arborfs::testing::TempStore temp_;
  Disk& disk_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<opencode::Writer> writer_;
  std::string work_;
};

struct OpenCodeAct {
  const char* name;
  Result<void> (*prepare)(OpenCodeStage&);
  Result<void> (*run)(OpenCodeStage&);
  /// `before` as pieces() were when it began.
  bool (*is_done)(OpenCodeStage&, const std::vector<std::string>& before);
};

inline Result<void> nothing_to_prepare(OpenCodeStage& /*stage*/) {
  return {};
}

inline Result<void> remove_parent(OpenCodeStage& stage) {
  const auto session = stage.titled(kOpenCodeParent);
  return session ? stage.writer().remove(session) : Result<void>(Errc::not_found, "the session is gone");
}

/// The pieces of `before` that are missing now, except for the sessions' own data.
inline std::vector<std::string> lost_of(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  std::vector<std::string> lost;
  std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(lost));
  std::erase_if(lost, [](const std::string& piece) { return piece.starts_with("session|"); });
  return lost;
}

inline std::size_t count_marked(const std::vector<std::string>& pieces) {
  return static_cast<std::size_t>(std::count_if(pieces.begin(), pieces.end(), [](const std::string& piece) {
    return piece.starts_with("part") && piece.find(kOpenCodeMarker) != std::string::npos;
  }));
}

inline std::size_t count_sessions(const std::vector<std::string>& pieces) {
  return static_cast<std::size_t>(std::count_if(
      pieces.begin(), pieces.end(), [](const std::string& piece) { return piece.starts_with("session|"); }));
}

inline bool has_one_more(OpenCodeStage& stage, const std::vector<std::string>& before) {
  const auto now = stage.pieces();
  return count_marked(now) == count_marked(before) + 1 && lost_of(before, now).empty();
}

inline Result<void> relocate(OpenCodeStage& stage, const std::string& from, const std::string& to) {
  const auto done = stage.writer().relocate(stage.titled(kOpenCodePlain), {from, to});
  return done ? Result<void>() : Result<void>(done.error());
}

inline const OpenCodeAct kOpenCodeActs[] = {
    {"append", nothing_to_prepare,
     [](OpenCodeStage& stage) -> Result<void> {
       const auto done = stage.writer().append_text(stage.titled(kOpenCodePlain), {kOpenCodeMarker, false, ""});
       return done ? Result<void>() : Result<void>(done.error());
     },
     has_one_more},
    {"summary", nothing_to_prepare,
     [](OpenCodeStage& stage) -> Result<void> {
       const auto done = stage.writer().summarize(stage.titled(kOpenCodePlain), kOpenCodeMarker);
       return done ? Result<void>() : Result<void>(done.error());
     },
     has_one_more},
    {"title",
     [](OpenCodeStage& stage) -> Result<void> {
       const auto again = stage.titled("another title");
       const auto done = again ? stage.writer().set_title(again, kOpenCodeParent) : Result<std::string>("");
       return done ? Result<void>() : Result<void>(done.error());
     },
     [](OpenCodeStage& stage) -> Result<void> {
       const auto done = stage.writer().set_title(stage.titled(kOpenCodeParent), "another title");
       return done ? Result<void>() : Result<void>(done.error());
     },
     [](OpenCodeStage& stage, const std::vector<std::string>& before) {
       return stage.titled("another title") != nullptr && lost_of(before, stage.pieces()).empty();
     }},
    {"fork_from_another_agent", nothing_to_prepare,
     [](OpenCodeStage& stage) -> Result<void> {
       const auto done = stage.writer().adopt(arborfs::testing::conversation_of(2, 100), "opencode");
       return done ? Result<void>() : Result<void>(done.error());
     },
     [](OpenCodeStage& stage, const std::vector<std::string>& before) {
       const auto now = stage.pieces();
       return count_sessions(now) == count_sessions(before) + 1 && lost_of(before, now).empty();
     }},
    {"relocate",
     [](OpenCodeStage& stage) {
       const bool is_moved = stage.titled(kOpenCodePlain)->head().header.cwd == kOpenCodeMoved;
       return is_moved ? relocate(stage, kOpenCodeMoved, stage.work()) : Result<void>();
     },
     [](OpenCodeStage& stage) { return relocate(stage, stage.work(), kOpenCodeMoved); },
     [](OpenCodeStage& stage, const std::vector<std::string>& before) {
       return stage.titled(kOpenCodePlain)->head().header.cwd == kOpenCodeMoved &&
              lost_of(before, stage.pieces()).empty();
     }},
    {"remove", nothing_to_prepare, remove_parent,
     [](OpenCodeStage& stage, const std::vector<std::string>& /*before*/) {
       return stage.titled(kOpenCodeParent) == nullptr && Trash(stage.trash()).list().size() == 1;
     }},
    {"restore", remove_parent, [](OpenCodeStage& stage) { return stage.restore_all(); },
     [](OpenCodeStage& stage, const std::vector<std::string>& before) {
       return stage.titled(kOpenCodeParent) != nullptr && lost_of(before, stage.pieces()).empty();
     }},
};

/// For GoogleTest.
inline std::string name_of_act(const ::testing::TestParamInfo<OpenCodeAct>& with) {
  return with.param.name;
}

}  // namespace arborfs::conformance
