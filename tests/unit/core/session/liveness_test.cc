// The states of many sessions at once.
#include "core/session/liveness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

using State = Liveness::State;

constexpr const char* kName = "2026-02-16T10-20-30-000Z_same";

class LivenessTest : public ::testing::Test {
 protected:
  void add(const std::string& folder) {
    store.write(folder, kName, testing::TempStore::header("id-of" + folder, "/none/of" + folder) + "\n");
  }
  void lock(const std::string& folder, long pid) {
    std::ofstream(store.sessions() / folder / ("." + std::string(kName) + ".jsonl.lock")) << pid << ":1\n";
  }
  /// By folder.
  std::map<std::string, State> states() {
    Catalog catalog(omp::open_store(store.root()), "/home/dev");
    catalog.rescan();
    std::map<std::string, State> found;
    for (const auto& [id, session] : catalog.view()->by_id) {
      found[session->place().folder] = check_liveness(*session, catalog).state;
    }
    return found;
  }
  testing::TempStore store;
  testing::Variable state{"XDG_STATE_HOME", store.root() + "/state"};
};

TEST_F(LivenessTest, LockFilesOfOtherProcessesAreHeld) {
  add("-free");
  add("-held");
  add("-stale");
  add("-own");
  lock("-held", ::getppid());
  lock("-stale", 999'999'999);
  lock("-own", ::getpid());
  const std::map<std::string, State> wanted{
      {"-free", State::quiet}, {"-held", State::live}, {"-stale", State::quiet}, {"-own", State::quiet}};
  EXPECT_EQ(states(), wanted);
}

TEST_F(LivenessTest, MissingFolderHoldsNothing) {
  add("-gone");
  Catalog catalog(omp::open_store(store.root()), "/home/dev");
  catalog.rescan();
  const auto session = catalog.view()->by_id.front().second;
  std::filesystem::remove_all(store.sessions() / "-gone");
  EXPECT_EQ(check_liveness(*session, catalog).state, State::quiet);
}

}  // namespace
}  // namespace arborfs
