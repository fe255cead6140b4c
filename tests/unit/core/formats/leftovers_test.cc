// Whatever a writer leaves when it is killed at any of its disk operations, the doctor's findings name it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/store/store_parts.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/goat_acts.h"

namespace arborfs {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it
namespace fs = std::filesystem;

bool is_left_over(const std::string& name) {
  return name.starts_with(".arborfs-") || (name.starts_with('.') && name.ends_with(".tmp"));
}

/// Files and folders that look like an unfinished write, outside the trash.
std::set<std::string> left_below(const std::string& root) {
  std::set<std::string> found;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename().string();
    if (name == "trash" || name == "state") {
      at.disable_recursion_pending();
    } else if (is_left_over(name)) {
      found.insert(at->path().string());
      if (at->is_directory()) {
        at.disable_recursion_pending();
      }
    }
  }
  return found;
}

std::set<std::string> named_by_doctor(GoatStage& stage) {
  std::set<std::string> named;
  const auto view = stage.catalog().view();
  for (const auto& store : stage.catalog().stores()) {
    for (const FileFinding& fault : faults_of(*store)) {
      named.insert(fault.finding.leftover);
    }
  }
  for (const auto& [id, session] : view->by_id) {
    for (const Finding& fault : faults_of(session->store(), session->place())) {
      named.insert(fault.leftover);
    }
  }
  named.erase("");
  return named;
}

/// False if the act ended before its `at`-th operation on the disk.
bool is_killed_at(unsigned at, FaultyDisk& disk, GoatStage& stage, const GoatAct& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    disk.arm(Fault::kill, at, 1);
    ::_exit(act.run(stage) ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

void kill_everywhere(const GoatAct& act, std::size_t& seen) {
  for (unsigned at = 1;; ++at) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::string(act.name) + ", operation " + std::to_string(at));
    FaultyDisk disk;
    WriteSettings settings;
    settings.allow_delete = true;
    GoatStage stage(disk, settings);
    act.prepare(stage);
    stage.start();
    const bool is_killed = is_killed_at(at, disk, stage, act);
    disk.disarm();
    stage.start();
    const auto left = left_below(stage.root());
    for (const std::string& path : left) {  // a folder that was just made may be locked in a moment
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
    EXPECT_EQ(named_by_doctor(stage), left);
    seen += left.size();
    if (!is_killed || ::testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(Leftovers, OfKilledWritersOfGoatAreNamed) {
  std::size_t seen = 0;
  for (const GoatAct& act : kGoatActs) {
    if (!act.trash_is_apart) {
      kill_everywhere(act, seen);
    }
  }
  EXPECT_GT(seen, 10U);
}

}  // namespace
}  // namespace arborfs
