// Each disk operation fails in turn during each act of the Writer (CONTRACT.md 6 and 7). The store is as before or as
// after the act, acknowledged entries are there after a restart, and no error persists.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "tests/support/acts.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it

/// Every file below the scratch folder except blobs, which mean nothing without a line that refers to them.
std::map<std::string, std::string> files(Stage& stage) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(stage.temp().root())) {
    const std::string name = fs::relative(entry.path(), stage.temp().root()).string();
    const bool is_blob = name.starts_with("blobs/") && !entry.path().filename().string().starts_with(".");
    if (entry.is_regular_file() && !is_blob) {
      found[name] = bytes_of_file(entry.path());
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
  Trial(const Act& act, const Plan& plan) : act_(act), plan_(plan), stage_(Storage::files, disk_, settings_of_acts()) {}

  /// False if the act met no fault.
  bool run(unsigned at) {
    const auto session = prepare(act_, stage_, disk_);
    before_ = files(stage_);
    const auto logs = logs_of_s1(stage_);
    log_before_ = logs.empty() ? "" : logs.front();
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
    if (plan_.count == 1 && !leaves_replaced_file()) {
      expect_nothing_left();
    }
    age_locks();
    stage_.restart();
    EXPECT_TRUE(result ? act_.is_done(stage_) : is_before_or_after());
    expect_next_append();
    return !disk_.met().empty();
  }

 private:
  /// True if the faults leave the Writer able to undo the act.
  [[nodiscard]] bool is_undoable() const {
    return plan_.count == 1 ||
           std::all_of(disk_.met().begin(), disk_.met().end(), [](const auto& name) { return name == "write"; });
  }

  /// Undo exchanges the names of the log and the new file. If the old one cannot be removed then, the doctor clears it.
  [[nodiscard]] bool leaves_replaced_file() const {
    return act_.keeps == Keeps::all_but_last && !disk_.met().empty() && disk_.met().front() == "remove";
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

  /// A lock file into which the process could not even be written blocks others for half a second.
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
    const auto logs = logs_of_s1(stage_);
    const std::string now = logs.empty() ? "" : logs.front();
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
      EXPECT_TRUE(log_before_.empty() || !logs_of_s1(stage_).empty()) << "the session is gone";
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

  const Act& act_;
  const Plan& plan_;
  FaultyDisk disk_;
  Stage stage_;
  std::map<std::string, std::string> before_;
  std::string log_before_;
};

class FaultTest : public ::testing::TestWithParam<Act> {};

INSTANTIATE_TEST_SUITE_P(Acts, FaultTest, ::testing::ValuesIn(kActs), name_of);

TEST_P(FaultTest, LogSurvivesAFailureOfEachOperation) {
  constexpr unsigned kEnough = 200;
  for (const Plan& plan : kPlans) {
    unsigned at = 1;
    while (at < kEnough && Trial(GetParam(), plan).run(at)) {
      at += testing::kSanitizedShare;
    }
    EXPECT_GT(at, 3U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

}  // namespace
}  // namespace arborfs
