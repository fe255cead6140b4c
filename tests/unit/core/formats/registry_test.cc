// Where the stores of the user's agents are found, and how they are named.
#include "core/formats/registry.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

using testing::TempStore;
namespace fs = std::filesystem;

TEST(ChosenStore, HasAnAgentAndAFolder) {
  const auto chosen = parse_chosen_store("pi=/a=b c");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->agent, "pi");
  EXPECT_EQ(chosen->dir, "/a=b c");
  for (const char* word : {"", "pi", "pi=", "/a"}) {
    const auto failed = parse_chosen_store(word);
    ASSERT_FALSE(failed) << word;
    EXPECT_NE(failed.error().message.find("AGENT=DIR"), std::string::npos) << failed.error().message;
  }
}

TEST(ChosenStore, OfAnUnknownAgentIsRefusedWithTheKnownOnes) {
  const auto failed = parse_chosen_store("nobody=/a");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::invalid_argument);
  for (const std::string_view name : known_agents()) {
    EXPECT_NE(failed.error().message.find(name), std::string::npos) << failed.error().message;
  }
}

/// A home folder of its own, without the agents' variables.
class OwnStoresTest : public ::testing::Test {
 protected:
  static std::vector<FoundStore> found() {
    auto stores = find_stores({}, Access::look);
    EXPECT_TRUE(stores);
    return std::move(stores).value();
  }
  void make(const std::string& folder) const { fs::create_directories(home.root() + "/" + folder); }
  [[nodiscard]] std::string at(const std::string& folder) const {
    return fs::canonical(home.root()).string() + "/" + folder;
  }

  TempStore home;
  testing::Variable home_{"HOME", home.root()};
  testing::Variable chosen_{"PI_CODING_AGENT_DIR", ""};
  testing::Variable data_{"XDG_DATA_HOME", ""};
  testing::Variable state_{"XDG_STATE_HOME", ""};
};

TEST_F(OwnStoresTest, OneRowForEachKnownAgent) {
  const auto rows = found();
  ASSERT_EQ(rows.size(), known_agents().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].agent, known_agents()[i]);
  }
}

TEST_F(OwnStoresTest, AreOpenedBeforeTheyExist) {
  auto rows = found();
  for (const FoundStore& row : rows) {
    EXPECT_EQ(row.store != nullptr, !row.place.empty()) << row.agent << ": " << row.why_not;
    EXPECT_EQ(row.store != nullptr, row.why_not.empty()) << row.agent << ": " << row.why_not;
  }
  EXPECT_EQ(rows[0].place, at(".omp/agent"));
  make(".pi/agent");
  rows = found();
  ASSERT_TRUE(rows[1].store);
  EXPECT_EQ(rows[1].place, at(".pi/agent"));
  EXPECT_EQ(rows[1].store->format().agent, "pi");
  const auto stores = open_stores({}, Access::look);
  ASSERT_TRUE(stores);
  EXPECT_EQ(stores->main().paths().agent_dir, at(".pi/agent")) << "omp has no folder";
}

TEST_F(OwnStoresTest, OneFolderOfBothCountsAsThatOfOmp) {
  make("both/sessions");
  make(".pi/agent");
  const testing::Variable chosen("PI_CODING_AGENT_DIR", home.root() + "/both");
  const auto rows = found();
  EXPECT_EQ(rows[0].place, at("both"));
  EXPECT_FALSE(rows[1].store);
  EXPECT_NE(rows[1].why_not.find("PI_CODING_AGENT_DIR"), std::string::npos) << rows[1].why_not;
}

TEST_F(OwnStoresTest, ALinkToTheFolderOfAnotherAgentIsNotASecondStore) {
  make(".omp/agent/sessions");
  make(".pi");
  fs::create_directory_symlink(home.root() + "/.omp/agent", home.root() + "/.pi/agent");
  const auto rows = found();
  EXPECT_TRUE(rows[0].store);
  EXPECT_FALSE(rows[1].store);
  EXPECT_NE(rows[1].why_not.find("omp"), std::string::npos) << rows[1].why_not;
}

TEST_F(OwnStoresTest, NamedStoresReplaceThem) {
  make(".pi/agent");
  make("a");
  make("b");
  const auto rows = find_stores({{"omp", home.root() + "/a"}, {"omp", home.root() + "/b"}}, Access::look);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].place, at("a"));
  EXPECT_EQ((*rows)[1].place, at("b"));
}

TEST_F(OwnStoresTest, TwoNamedStoresInOnePlaceAreRefused) {
  make("a");
  const auto rows = find_stores({{"omp", home.root() + "/a"}, {"pi", home.root() + "/b/../a"}}, Access::look);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace arborfs
