// Sessions of every agent are removed and restored: the store is as it was, with the times of its files, whenever the
// process is killed in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/write/trash.h"
#include "tests/support/generated_store.h"
#include "tests/support/killed_acts.h"
#include "tests/support/killed_removals.h"
#include "tests/support/sanitized.h"
#include "tests/support/store_files.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::files_in;
using testing::TempStore;

/// An agent's folder, as after a new start of arborfs, and a trash.
struct Opened {
  std::string trash;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<Writer> writer;

  Opened(const std::string& agent, const std::string& root) : trash(root + "/trash") {
    auto stores = open_stores({{agent, root + "/stores/" + agent, false}}, Access::write);
    EXPECT_TRUE(stores) << stores.error().message;
    catalog = std::make_unique<Catalog>(*std::move(stores), "/home/ann", "");
    catalog->rescan();
    WriteSettings settings;
    settings.allow_delete = true;
    settings.durability = Durability::none;
    settings.trash = trash;
    writer = make_writer(*catalog, settings);
    writer->take_back_parts();
  }

  /// Removes all sessions, in any order. A thread that another one begins with stays, and what goes with its parent is
  /// gone.
  void remove_all(std::mt19937& random) const {
    std::vector<SessionPtr> sessions;
    for (const auto& [id, session] : catalog->view()->by_id) {
      if (session->format().is_writable()) {
        sessions.push_back(session);
      }
    }
    std::shuffle(sessions.begin(), sessions.end(), random);
    for (const SessionPtr& session : sessions) {
      const auto done = writer->remove(session);
      EXPECT_TRUE(done || done.error().code == Errc::not_found ||
                  done.error().message.find("begins in its file") != std::string::npos)
          << session->stem() << ": " << done.error().message;
    }
  }
  /// Returns how many there were.
  std::size_t restore_all(std::mt19937& random) const {
    std::vector<Trashed> all = Trash(trash).list();
    std::shuffle(all.begin(), all.end(), random);
    for (const Trashed& one : all) {
      const auto done = restore_session(trash, one, catalog->stores(), Disk::real());
      EXPECT_TRUE(done) << one.name << ": " << done.error().message;
    }
    return all.size();
  }
};

class RemovedSessions : public ::testing::TestWithParam<testing::AgentShapes> {};
INSTANTIATE_TEST_SUITE_P(OfAgents, RemovedSessions, ::testing::ValuesIn(testing::agent_shapes()),
                         [](const auto& agent) { return agent.param.agent; });

TEST_P(RemovedSessions, ComeBackByteForByteWithTheirTimes) {
  constexpr std::size_t kSessions = 1000 / testing::kSanitizedShare;
  std::mt19937 random(17);
  std::size_t restored = 0;
  for (unsigned number = 0; restored < kSessions && number < kSessions && !HasFailure(); ++number) {
    SCOPED_TRACE(number);
    const TempStore temp(testing::memory_folder());
    const testing::GeneratedStore store(GetParam(), number, temp.root() + "/stores", {.names = true});
    const auto before = files_in(temp.root() + "/stores");
    const Opened opened(GetParam().agent, temp.root());
    opened.remove_all(random);
    restored += opened.restore_all(random);
    EXPECT_EQ(files_in(temp.root() + "/stores"), before);
  }
  EXPECT_GE(restored, kSessions);
}

/// Each session is whole in the store or in the trash.
TEST_P(RemovedSessions, AreWholeSomewhereAfterKills) {
  const TempStore temp(testing::memory_folder());
  const testing::GeneratedStore store(GetParam(), 3, temp.root() + "/stores", {});
  const auto before = files_in(temp.root() + "/stores");
  const Opened opened(GetParam().agent, temp.root());
  std::mt19937 random(17);
  testing::kill_removals(*opened.catalog, *opened.writer, opened.trash, Disk::real(), testing::kill_rounds() / 4,
                         [&](int round) {
                           SCOPED_TRACE(round);
                           Opened(GetParam().agent, temp.root()).restore_all(random);
                           ASSERT_EQ(files_in(temp.root() + "/stores"), before);
                         });
}

}  // namespace
}  // namespace arborfs
