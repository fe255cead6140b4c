// Files with the name of a log that are no sessions: each is counted with its reason. generated_stores_test.cc has the
// property, K3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/store_totals.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::Pair;
using testing::StoreOfLines;
using testing::TempStore;

class LeftOutFiles : public ::testing::Test {
 protected:
  /// Path below the store, and reason.
  static std::vector<std::pair<std::string, std::string>> left_out(const Catalog& catalog, const std::string& dir) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const LeftOut& out : catalog.left_out()) {
      found.emplace_back(fs::path(out.path).lexically_relative(fs::canonical(dir)).string(), out.reason);
    }
    return found;
  }
  const TempStore scratch_;
};

TEST_F(LeftOutFiles, HardLinksToOneFileOfOpenCodeAreOneSession) {
  const std::string dir = scratch_.root() + "/opencode";
  StoreOfLines store("opencode", dir);
  store.files["storage/session/p/ses_b.json"] = {R"({"id":"ses_b","directory":"/w","time":{"created":1,"updated":2}})"};
  store.files["storage/session/q/ses_c.json"] = {R"({"id":"ses_c","directory":"/w","time":{"created":1,"updated":2}})"};
  store.write();
  fs::create_hard_link(dir + "/storage/session/p/ses_b.json", dir + "/storage/session/p/ses_d.json");
  fs::create_hard_link(dir + "/storage/session/p/ses_b.json", dir + "/storage/session/q/ses_a.json");
  fs::create_symlink(dir + "/storage/session/p/ses_b.json", dir + "/storage/session/p/ses_a.json");
  const auto catalog = store.open();
  std::vector<std::string> ids;
  for (const auto& [id, session] : catalog->view()->by_id) {
    ids.push_back(id);
  }
  EXPECT_THAT(ids, ElementsAre("ses_b", "ses_c"));
  const std::string why = "another name of a session's log";
  EXPECT_THAT(left_out(*catalog, dir),
              ElementsAre(Pair("storage/session/p/ses_a.json", why), Pair("storage/session/p/ses_d.json", why),
                          Pair("storage/session/q/ses_a.json", why)));
}

// The stat of a thread with a name in Codex's list is not that of its file.
TEST_F(LeftOutFiles, SecondNamesOfANamedThreadOfCodexAreCounted) {
  const std::string dir = scratch_.root() + "/codex";
  const std::string id = "00000001-0000-7000-8000-000000000000";
  const std::string before_id = "sessions/2026/05/01/rollout-2026-05-01T10-00-00-";
  StoreOfLines store("codex", dir);
  store.files[before_id + id + ".jsonl"] = {R"({"type":"session_meta","payload":{"id":")" + id + R"(","cwd":"/w"}})"};
  store.files["session_index.jsonl"] = {R"({"id":")" + id + R"(","thread_name":"Kites"})"};
  store.write();
  const std::string linked = before_id + "00000000-0000-7000-8000-000000000000.jsonl";
  const std::string second = before_id + "00000002-0000-7000-8000-000000000000.jsonl";
  fs::create_symlink(dir + "/" + before_id + id + ".jsonl", dir + "/" + linked);
  fs::create_hard_link(dir + "/" + before_id + id + ".jsonl", dir + "/" + second);
  const auto catalog = store.open();
  ASSERT_EQ(catalog->view()->by_id.size(), 1U);
  EXPECT_EQ(catalog->view()->by_id.front().first, id);
  const std::string why = "another name of a session's log";
  EXPECT_THAT(left_out(*catalog, dir), ElementsAre(Pair(linked, why), Pair(second, why)));
}

TEST_F(LeftOutFiles, LogsBelowAFolderOfLogsAreCountedAlsoWithoutTheirSession) {
  const std::string dir = scratch_.root() + "/omp";
  StoreOfLines store("omp", dir);
  store.files["sessions/--w--/2026-05-01_a.jsonl"] = {TempStore::two_entries()};
  store.files["sessions/--w--/2026-05-01_a/One.jsonl"] = {TempStore::two_entries()};
  store.files["sessions/--w--/2026-05-01_gone/deep/Two.jsonl"] = {TempStore::two_entries()};
  store.write();
  EXPECT_THAT(
      left_out(*store.open(), dir),
      ElementsAre(
          Pair("sessions/--w--/2026-05-01_a/One.jsonl", "a sub-agent's log in artifacts/ of its session"),
          Pair("sessions/--w--/2026-05-01_gone/deep/Two.jsonl", "a log below a folder of logs, where no agent looks")));
}

}  // namespace
}  // namespace arborfs
