#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/log/dialect.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::omp {
namespace {

constexpr std::int64_t kNow = 1'771'237'230'000;  // 2026-02-16T10:20:30Z

TEST(WriteIds, SnowflakesMatchTheAgents) {
  json::testing::for_each_vector("snowflake.jsonl", [](const json::Value& vector) {
    const auto ms = static_cast<std::int64_t>(json::member(vector, "timestamp")->GetDouble());
    const auto sequence = static_cast<std::uint32_t>(json::member(vector, "sequence")->GetDouble());
    EXPECT_EQ(snowflake(ms, sequence), *json::string_member(vector, "id"));
    EXPECT_EQ(snowflake(ms, sequence | 0xFFC00000U), *json::string_member(vector, "id")) << "22 bits count";
  });
}

// The agents resolve the path that they get; session_folder_name() expects a resolved one.
std::string resolved(const std::string& cwd) {
  std::string path = (std::filesystem::path("/") / cwd).lexically_normal();
  if (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path == "/tmp/SCRATCH/link" ? "/tmp/SCRATCH/real-target" : path;  // was a link on the agents' machine
}

TEST(WriteIds, FolderNamesMatchTheAgents) {
  std::size_t compared = 0;
  json::testing::for_each_vector("dirNames.jsonl", [&](const json::Value& vector) {
    const auto cwd = std::string(*json::string_member(vector, "cwd"));
    EXPECT_EQ(session_folder_name(resolved(cwd), *json::string_member(vector, "home"),
                                  *json::string_member(vector, "tmpdir")),
              *json::string_member(vector, "dir"));
    ++compared;
  });
  EXPECT_GE(compared, 30U);
  EXPECT_EQ(session_folder_name("/work", "", ""), "--work--");
  EXPECT_EQ(session_folder_name("/work/a", "/", "/tmp"), "-work-a");
  EXPECT_EQ(session_folder_name("/home/devx", "/home/dev", "/tmp"), "--home-devx--");
}

TEST(WriteIds, FileNamesHaveTimeAndId) {
  EXPECT_EQ(log_file_name(kNow, "1470cb256c2cc772"), "2026-02-16T10-20-30-000Z_1470cb256c2cc772.jsonl");
}

TEST(WriteIds, SessionIdsHaveTheFormOfTheirDialect) {
  const std::string old_id = new_session_id(Dialect::omp13, kNow);
  EXPECT_TRUE(std::regex_match(old_id, std::regex("1470cb256c[0-9a-f]{6}"))) << old_id;
  const std::string new_id = new_session_id(Dialect::omp18, kNow);
  EXPECT_TRUE(std::regex_match(new_id, std::regex("019c65f7-45b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")))
      << new_id;
}

TEST(WriteIds, EntryIdsInUseAreDrawnAgain) {
  const auto id = new_entry_id([](std::string_view) { return false; });
  EXPECT_TRUE(std::regex_match(id, std::regex("[0-9a-f]{8}"))) << id;
  int draws = 0;
  const auto third = new_entry_id([&draws](std::string_view) { return ++draws < 3; });
  EXPECT_EQ(third.size(), 8U);
  EXPECT_EQ(draws, 3);
  draws = 0;
  const auto last = new_entry_id([&draws](std::string_view) { return ++draws > 0; });
  EXPECT_EQ(last.size(), 16U);
  EXPECT_EQ(draws, 100);
}

TEST(WriteIds, AreUniqueAcrossThreads) {
  std::mutex mutex;
  std::set<std::string> ids;
  std::vector<std::thread> threads;
  constexpr int kEach = 2000;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const std::string a = new_session_id(Dialect::omp13, kNow);
        const std::string b = new_session_id(Dialect::omp18, kNow);
        const std::lock_guard lock(mutex);
        ids.insert(a);
        ids.insert(b);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(ids.size(), 4U * 2 * kEach);
}

}  // namespace
}  // namespace arborfs::omp
