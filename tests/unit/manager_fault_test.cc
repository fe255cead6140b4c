// Each operation of the disk fails in turn, in each thing that the Writer does (DESIGN 6 and 7): the store is as before
// or as after, what was acknowledged is there after a restart, and no error sticks.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "core/manager/trash.h"
#include "core/write/header_text.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/stage.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::Fault;
using testing::FaultyDisk;
using testing::Stage;
using testing::Storage;
using testing::TempStore;

constexpr const char* kName = "2026-02-16T10-20-30-000Z_s1";
constexpr const char* kMarker = "what was written";

/// The session s1, wherever it lies; null when it is gone.
SessionPtr the_session(Stage& stage) {
  for (const auto& [name, session] : stage.catalog().view()->by_id) {
    if (name == "s1") {
      return session;
    }
  }
  return nullptr;
}

std::size_t sessions(Stage& stage) {
  return stage.catalog().view()->by_id.size();
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

SessionPtr small(Stage& stage) {
  return stage.add_small(kName);
}

SessionPtr with_slot(Stage& stage) {
  return stage.add(kName, title_slot_line("First", "user", 1771237231000) + TempStore::header("s1", "/work/pi") + "\n" +
                              TempStore::user("aaaa0001", "", "one") + "\n");
}

SessionPtr version_1(Stage& stage) {
  return stage.add(kName, R"({"type":"session","id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work/pi"})"
                          "\n"
                          R"({"type":"message","timestamp":"t","message":{"role":"user","content":"one"}})"
                          "\n");
}

SessionPtr torn(Stage& stage) {
  return stage.add(kName,
                   TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n{\"ty");
}

SessionPtr with_moved_leaf(Stage& stage) {
  const auto session = small(stage);
  EXPECT_TRUE(stage.writer().branch(session, "aaaa0001"));
  return session;
}

SessionPtr with_artifacts(Stage& stage) {
  const auto session = small(stage);
  const fs::path folder = stage.temp().log("-work", kName).parent_path() / kName;
  fs::create_directories(folder);
  std::ofstream(folder / "1.bash.log") << "output";
  return session;
}

template <class Answer>
Result<void> plain(const Result<Answer>& answer) {
  return answer ? Result<void>() : Result<void>(answer.error());
}

Result<void> append(Stage& stage, const SessionPtr& session) {
  return plain(stage.writer().append(session, Stage::text(kMarker)));
}

Result<void> append_image(Stage& stage, const SessionPtr& session) {
  const std::string data(16 * 1024, 'A');
  auto command = json_command(R"({"role":"user","content":[{"type":"text","text":")" + std::string(kMarker) +
                                  R"("},{"type":"image","mimeType":"image/png","data":")" + data + "\"}]}",
                              Flavour::omp13, 1771237231000);
  EXPECT_TRUE(command);
  EXPECT_EQ(command->drafts.at(0).blobs.size(), 1U);
  return plain(stage.writer().append(session, std::move(*command)));
}

bool is_written(Stage& stage) {
  const auto session = the_session(stage);
  return session && count(stage.bytes(session), kMarker) == 1;
}

bool is_written_with_its_image(Stage& stage) {
  const fs::path blobs = fs::path(stage.temp().root()) / "blobs";
  std::size_t whole = 0;
  for (const auto& blob : fs::directory_iterator(blobs)) {
    whole += stage.catalog().blobs()->open(blob.path().filename().string()) ? 1 : 0;
  }
  return is_written(stage) && whole == 1;
}

/// Something that the Writer does: to what, and how it shows that it was done.
struct Act {
  const char* name;
  SessionPtr (*prepare)(Stage&);
  Result<void> (*run)(Stage&, const SessionPtr&);
  bool (*is_done)(Stage&);
};

const Act kActs[] = {
    {"append", small, append, is_written},
    {"append behind a torn line", torn, append, is_written},
    {"append at a moved leaf", with_moved_leaf, append, is_written},
    {"append with an image", small, append_image, is_written_with_its_image},
    {"append to version 1", version_1, append,
     [](Stage& stage) { return is_written(stage) && stage.bytes(the_session(stage)).find("\"version\":3") < 200; }},
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
     [](Stage& stage) { return the_session(stage)->head().header.title == kMarker; }},
    {"title in a slot", with_slot,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().set_title(session, kMarker)); },
     [](Stage& stage) { return the_session(stage)->head().header.title == kMarker; }},
    {"fork", small, [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().fork(session)); },
     [](Stage& stage) { return sessions(stage) == 2; }},
    {"fork of a path", small,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().fork(session, "aaaa0001")); },
     [](Stage& stage) { return sessions(stage) == 2; }},
    {"create", small,
     [](Stage& stage, const SessionPtr& /*session*/) {
       return plain(stage.writer().create({"/work/pi", "A title", "", "anthropic/claude"}));
     },
     [](Stage& stage) { return sessions(stage) == 2; }},
    {"move", with_artifacts,
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().move(session, "/work/other")); },
     [](Stage& stage) {
       const auto session = the_session(stage);
       return session->head().header.cwd == "/work/other" && session->place().folder == "--work-other--" &&
              fs::exists(stage.temp().sessions() / "--work-other--" / kName / "1.bash.log");
     }},
    {"remove", with_artifacts, [](Stage& stage, const SessionPtr& session) { return stage.writer().remove(session); },
     [](Stage& stage) { return sessions(stage) == 0 && Trash(stage.temp().root() + "/trash").list().size() == 1; }},
};

/// Every file below the scratch folder, without blobs, which mean nothing without a line that names them.
std::map<std::string, std::string> files(Stage& stage) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(stage.temp().root())) {
    const std::string name = fs::relative(entry.path(), stage.temp().root()).string();
    const bool is_blob = name.starts_with("blobs/") && !entry.path().filename().string().starts_with(".");
    if (entry.is_regular_file() && !is_blob) {
      std::ifstream in(entry.path(), std::ios::binary);
      found[name] = std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  return found;
}

bool is_hidden(const std::string& name) {
  return fs::path(name).filename().string().starts_with(".");
}

struct Plan {
  Fault fault;
  unsigned count;
  const char* words;
};
constexpr Plan kPlans[] = {
    {Fault::no_space, 1, "ENOSPC once"},
    {Fault::no_space, FaultyDisk::kForGood, "ENOSPC for good"},
    {Fault::io, 1, "EIO once"},
    {Fault::io, FaultyDisk::kForGood, "EIO for good"},
    {Fault::short_write, 1, "a short write"},
    {Fault::short_write, 2, "a torn write"},
    {Fault::short_write, FaultyDisk::kForGood, "a torn write, and nothing after it"},
};

std::string words_of(const std::vector<std::string>& met) {
  std::string words;
  for (const auto& operation : met) {
    words += (words.empty() ? "" : ", ") + operation;
  }
  return words;
}

class Trial {
 public:
  Trial(const Act& act, const Plan& plan) : act_(act), plan_(plan), stage_(Storage::files, disk_, settings()) {}

  /// False when the act met no fault.
  bool run(unsigned at) {
    const auto session = act_.prepare(stage_);
    before_ = files(stage_);
    log_before_ = stage_.bytes(session);
    disk_.arm(plan_.fault, at, plan_.count);
    const auto result = act_.run(stage_, session);
    disk_.disarm();
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       std::string(act_.name) + ", " + plan_.words + " at " + std::to_string(at) +
                                           ": " + words_of(disk_.met()) + "; " +
                                           (result ? "done" : result.error().message));
    if (disk_.met().empty()) {
      EXPECT_TRUE(result);
    } else if (!result && is_undoable() && !disk_.met_sync()) {
      expect_as_before();
    }
    if (plan_.count == 1) {
      expect_nothing_left();
    }
    age_locks();
    stage_.restart();
    EXPECT_TRUE(result ? act_.is_done(stage_) : is_before_or_after());
    expect_next_append();
    return !disk_.met().empty();
  }

 private:
  static WriteSettings settings() {
    WriteSettings settings;
    settings.allow_delete = true;
    return settings;
  }
  /// The faults left what was done the means to be undone.
  [[nodiscard]] bool is_undoable() const {
    return plan_.count == 1 ||
           std::all_of(disk_.met().begin(), disk_.met().end(), [](const auto& name) { return name == "write"; });
  }

  void expect_as_before() {
    const auto now = files(stage_);
    for (const auto& [name, bytes] : before_) {
      EXPECT_TRUE(now.contains(name)) << name;
      EXPECT_EQ(now.contains(name) ? now.at(name) : "", bytes) << name;
    }
    for (const auto& [name, bytes] : now) {
      EXPECT_TRUE(before_.contains(name) || (plan_.count > 1 && is_hidden(name))) << name << " is new";
    }
  }

  /// A lock file of which not even the process could be written keeps others out for half a second.
  void age_locks() {
    for (const auto& [name, bytes] : files(stage_)) {
      if (name.ends_with(".lock") && bytes.find(':') == std::string::npos) {
        fs::last_write_time(stage_.temp().root() + "/" + name,
                            fs::file_time_type::clock::now() - std::chrono::seconds(1));
      }
    }
  }

  void expect_nothing_left() {
    for (const auto& [name, bytes] : files(stage_)) {
      EXPECT_FALSE(is_hidden(name)) << name << " is left";
    }
  }

  bool is_before_or_after() {
    const auto session = the_session(stage_);
    const std::string now = session ? stage_.bytes(session) : "";
    if (now == log_before_ || act_.is_done(stage_)) {
      return true;
    }
    if (is_undoable()) {
      return false;
    }
    const bool slot_only =
        now.size() > 256 && log_before_.size() > 256 && now.substr(256).starts_with(log_before_.substr(256));
    return now.starts_with(log_before_) || slot_only;
  }

  void expect_next_append() {
    const auto session = the_session(stage_);
    if (!session) {
      EXPECT_TRUE(act_.is_done(stage_)) << "the session is gone";
      return;
    }
    const std::size_t entries = entries_of(session);
    const auto written = stage_.writer().append(session, Stage::text("the next one"));
    EXPECT_TRUE(written) << (written ? "" : written.error().message);
    stage_.restart();
    const auto again = the_session(stage_);
    ASSERT_TRUE(again);
    EXPECT_EQ(entries_of(again), entries + 1);
    EXPECT_EQ(count(stage_.bytes(again), "the next one"), 1U);
    EXPECT_TRUE(written && Stage::leaf_id(again) == written->id);
  }

  static std::size_t entries_of(const SessionPtr& session) {
    EXPECT_TRUE(session->refresh(Depth::index));
    const auto guard = session->read();
    return guard ? guard->index().size() : 0;
  }

  const Act& act_;
  const Plan& plan_;
  FaultyDisk disk_;
  Stage stage_;
  std::map<std::string, std::string> before_;
  std::string log_before_;
};

class FaultTest : public ::testing::TestWithParam<Act> {};

INSTANTIATE_TEST_SUITE_P(Acts, FaultTest, ::testing::ValuesIn(kActs), [](const auto& with) {
  std::string name = with.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
});

TEST_P(FaultTest, EveryOperationMayFail) {
  constexpr unsigned kEnough = 200;
  for (const Plan& plan : kPlans) {
    unsigned at = 1;
    while (at < kEnough && Trial(GetParam(), plan).run(at)) {
      ++at;
    }
    EXPECT_GT(at, 3U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

}  // namespace
}  // namespace arborfs
