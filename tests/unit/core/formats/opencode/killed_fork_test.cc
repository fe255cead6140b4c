// A fork to OpenCode's JSON files is killed before each of its operations (CONTRACT.md 7.2): the next writer removes
// what is left of an incomplete session, and nothing else.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/formats/opencode/adopted_session.h"
#include "core/formats/opencode/storage_folder.h"
#include "tests/support/conversations.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using Paths = std::set<std::string>;

class KilledFork : public ::testing::Test {
 protected:
  KilledFork() {
    fs::create_directories(storage_ + "/message/ses_theirs");
    std::ofstream(storage_ + "/message/ses_theirs/msg_theirs.json") << "{}";
  }
  /// True if the fork was killed before its `at`-th operation.
  [[nodiscard]] bool is_killed(unsigned at) const {
    const pid_t child = ::fork();
    if (child == 0) {
      testing::FaultyDisk disk;
      disk.arm(testing::Fault::kill, at, 1);
      AsText counts;
      ::_exit(opencode::adopt_in_files(disk, storage_, testing::conversation_of(3, 0), true, counts) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }
  void clear() const {
    const auto locked = opencode::StorageFolder::lock(storage_);
    ASSERT_TRUE(locked);
    opencode::clear_killed_forks(Disk::real(), *locked);
  }
  /// Without temporary files of the last minute, which the next writer leaves alone.
  [[nodiscard]] Paths paths() const {
    Paths found;
    for (const auto& one : fs::recursive_directory_iterator(storage_)) {
      const std::string name = one.path().filename().string();
      if (!(name.starts_with(".arborfs-") && name.ends_with(".tmp"))) {
        found.insert(one.path().string());
      }
    }
    return found;
  }

  testing::TempStore temp_;
  const std::string storage_ = temp_.root() + "/storage";
};

TEST_F(KilledFork, LeavesNothingOnceTheNextWriterComes) {
  EXPECT_FALSE(is_killed(1'000'000)) << "the project is there from now on";
  const std::size_t alone = paths().size();
  EXPECT_FALSE(is_killed(1'000'000));
  const std::size_t whole = paths().size() - alone;
  EXPECT_EQ(whole, 1U + 1U + 3 * 3U) << "a session, the folder of its messages, messages, folders of parts, parts";
  unsigned left = 0;
  unsigned at = 1;
  for (bool killed = true; killed && at < 1000; ++at) {
    const Paths before = paths();
    killed = is_killed(at);
    left += paths() != before ? 1 : 0;
    clear();
    const Paths now = paths();
    ASSERT_TRUE(std::includes(now.begin(), now.end(), before.begin(), before.end())) << "operation " << at;
    const std::size_t made = now.size() - before.size();
    ASSERT_TRUE(made == whole || (killed && made == 0)) << "operation " << at << " leaves " << made;
  }
  EXPECT_GT(left, 10U);
}

TEST_F(KilledFork, NotesThatAreTornOrNotOursRemoveNothing) {
  const Paths before = paths();
  for (const char* text : {"", "ses_theirs", "ses_theirs\n../ses_theirs\n", "../x\n", "msg_theirs\n"}) {
    std::ofstream(storage_ + "/.arborfs-ses_theirs.fork") << text;
    clear();
    EXPECT_EQ(paths(), before) << text;
  }
}

}  // namespace
}  // namespace arborfs
