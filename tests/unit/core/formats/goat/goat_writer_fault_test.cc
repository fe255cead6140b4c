// Each disk operation fails in turn during each act of goat::Writer, and the power fails after each (CONTRACT.md 6 and
// 7). Acknowledged changes are there, earlier data is kept, and the next append works. A killed process is the case in
// which all unsynced data is kept.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/json/document.h"
#include "tests/support/crash_disk.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/goat_acts.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it

WriteSettings settings_for_acts() {
  WriteSettings settings;
  settings.allow_delete = true;
  return settings;
}

/// The files below the scratch folder by name, without arborfs' own state.
std::map<std::string, std::string> files_of(const GoatStage& stage) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(stage.root())) {
    const std::string name = fs::relative(entry.path(), stage.root()).string();
    if (entry.is_regular_file() && !name.starts_with("state/")) {
      found[name] = GoatStage::read(entry.path().string());
    }
  }
  return found;
}

/// The folders that the session is in: that of the store, or those of the trash.
std::vector<std::string> places_of_s1(const GoatStage& stage) {
  std::vector<std::string> places{stage.base() + "/s1"};
  for (const Trashed& trashed : goat_trash(stage)) {
    places.push_back(stage.settings().trash + "/" + trashed.name + "/files/s1");
  }
  std::erase_if(places, [](const std::string& place) { return !fs::exists(place); });
  return places;
}

/// Messages and metadata of the session, and each version of the working files, exist completely in some place.
void expect_kept(const GoatStage& stage, const std::string& messages, const std::map<std::string, std::string>& work) {
  const auto places = places_of_s1(stage);
  ASSERT_FALSE(places.empty()) << "the session is gone";
  for (const std::string& place : places) {
    EXPECT_TRUE(GoatStage::read(place + "/messages.jsonl").starts_with(messages)) << place;
    json::Document metadata;
    EXPECT_TRUE(json::parse(GoatStage::read(place + "/metadata.json"), metadata)) << place;
    EXPECT_EQ(json::string_member(metadata, "id").value_or(""), "s1");
  }
  const auto now = files_of(stage);
  for (const auto& [name, bytes] : work) {
    EXPECT_TRUE(
        std::any_of(now.begin(), now.end(), [&bytes = bytes](const auto& file) { return file.second == bytes; }))
        << name << " is lost";
  }
}

std::map<std::string, std::string> work_of(const GoatStage& stage) {
  std::map<std::string, std::string> work;
  for (const char* const name : kWorkFiles) {
    if (fs::exists(stage.work() + "/" + name)) {
      work[name] = GoatStage::read(stage.work() + "/" + name);
    }
  }
  return work;
}

void expect_next_append(GoatStage& stage) {
  if (!stage.session()) {
    return;
  }
  const auto entries = [&] {
    EXPECT_TRUE(stage.session()->refresh(Depth::index));
    const auto guard = stage.session()->read();
    return guard ? guard->index().size() : 0;
  };
  const auto before = entries();
  const auto written = append_to_goat(stage, "the next one");
  EXPECT_TRUE(written) << written.error().message;
  stage.start();
  EXPECT_EQ(entries(), before + 1);
}

struct Plan {
  Fault fault;
  unsigned count;
  const char* words;
};
constexpr Plan kPlans[] = {
    {Fault::no_space, 1, "ENOSPC once"},
    {Fault::io, FaultyDisk::kForGood, "EIO for good"},
    {Fault::short_write, 1, "a short write"},
    {Fault::short_write, FaultyDisk::kForGood, "a torn write, and nothing after it"},
};

class GoatFaultTest : public ::testing::TestWithParam<GoatAct> {};
INSTANTIATE_TEST_SUITE_P(Acts, GoatFaultTest, ::testing::ValuesIn(kGoatActs), name_of_goat_act);

/// Files that a failed act may leave.
bool may_be_new(const std::string& name, const std::string& bytes) {
  return name.ends_with(".lock") || (name.ends_with(".jsonl") && bytes.empty());
}

/// False if the act met no fault.
bool fails_at(const GoatAct& act, const Plan& plan, unsigned at) {
  FaultyDisk disk;
  GoatStage stage(disk, settings_for_acts());
  act.prepare(stage);
  stage.start();
  disk.set_apart(act.trash_is_apart ? stage.settings().trash : "");
  const auto before = files_of(stage);
  const std::string messages = GoatStage::read(places_of_s1(stage).at(0) + "/messages.jsonl");
  const auto work = work_of(stage);
  disk.arm(plan.fault, at, plan.count);
  const auto result = act.run(stage);
  disk.disarm();
  const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                     std::string(act.name) + ", " + plan.words + " at " + std::to_string(at) + "; " +
                                         (result ? "done" : result.error().message));
  const bool has_met = !disk.met().empty();
  if (!has_met) {
    EXPECT_TRUE(result);
  } else if (!result && plan.count == 1 && !disk.met_sync() && std::string(act.name) != "rewind") {
    const auto now = files_of(stage);
    for (const auto& [name, bytes] : before) {
      EXPECT_TRUE(now.contains(name) && now.at(name) == bytes) << name << " has changed";
    }
    for (const auto& [name, bytes] : now) {
      EXPECT_TRUE(before.contains(name) || may_be_new(name, bytes)) << name << " is new";
    }
  }
  stage.start();
  EXPECT_TRUE(!result || act.is_done(stage));
  expect_kept(stage, messages, work);
  expect_next_append(stage);
  return has_met;
}

TEST_P(GoatFaultTest, TheSessionSurvivesAFailureOfEachOperation) {
  constexpr unsigned kEnough = 200;
  for (const Plan& plan : kPlans) {
    unsigned at = 1;
    while (at < kEnough && fails_at(GetParam(), plan, at)) {
      at += testing::kSanitizedShare;
    }
    EXPECT_GT(at, 2U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

struct Outcome {
  Bytes bytes;
  Names names;
  const char* words;
};
constexpr Outcome kOutcomes[] = {
    {Bytes::kept, Names::kept, "all kept, as after a kill"},
    {Bytes::kept, Names::first_half, "half of the names kept"},
    {Bytes::kept, Names::gone, "names gone"},
    {Bytes::dropped, Names::kept, "bytes dropped"},
    {Bytes::torn, Names::kept, "bytes torn"},
    {Bytes::nuls, Names::kept, "bytes turned to NULs"},
    {Bytes::torn, Names::gone, "bytes torn and names gone"},
};

/// False if the act ended before the power failed.
bool loses_power(const GoatAct& act, unsigned behind) {
  CrashDisk disk;
  GoatStage stage(disk, settings_for_acts());
  act.prepare(stage);
  if (fs::exists(stage.base() + "/s1")) {  // the disk keeps files that it creates open, and would thereby hold the lock
    GoatStage::put(stage.base() + "/s1/messages.jsonl.lock", "");
  }
  stage.start();
  disk.set_apart(act.trash_is_apart ? stage.settings().trash : "");
  const std::string messages = GoatStage::read(places_of_s1(stage).at(0) + "/messages.jsonl");
  const auto work = work_of(stage);
  disk.begin(stage.root(), behind);
  const auto result = act.run(stage);
  const bool is_cut = disk.is_off();
  EXPECT_TRUE(is_cut || result) << result.error().message;
  std::map<Image, const char*> images;
  for (const Outcome& outcome : kOutcomes) {
    images.emplace(disk.image(outcome.bytes, outcome.names), outcome.words);
  }
  disk.end();
  disk.set_apart("");
  stage.stop();
  for (const auto& [image, words] : images) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       std::string(act.name) + ", power off behind operation " +
                                           std::to_string(behind) + " (" + disk.last() + "): " + words + "; " +
                                           (result ? "it was acknowledged" : result.error().message));
    lay_out(image, stage.root());
    stage.start();
    stage.writer().take_back_parts();
    EXPECT_TRUE(!result || act.is_done(stage));
    expect_kept(stage, messages, work);
    expect_next_append(stage);
    stage.stop();
  }
  return is_cut;
}

class GoatCrashTest : public ::testing::TestWithParam<GoatAct> {};
INSTANTIATE_TEST_SUITE_P(Acts, GoatCrashTest, ::testing::ValuesIn(kGoatActs), name_of_goat_act);

TEST_P(GoatCrashTest, TheSessionSurvivesAPowerCutAnywhere) {
  constexpr unsigned kEnough = 200;
  unsigned behind = 0;
  while (behind < kEnough && loses_power(GetParam(), behind)) {
    behind += testing::kSanitizedShare;
  }
  EXPECT_GT(behind, 1U);
  EXPECT_LT(behind, kEnough);
}

}  // namespace
}  // namespace arborfs
