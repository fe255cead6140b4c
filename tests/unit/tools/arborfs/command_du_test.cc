// arborfs du and arborfs ls --size: what belongs to a session counts once, and what it shares is said apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/json/document.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"
#include "tools/arborfs/table.h"

namespace arborfs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOne = "11111111-1111-4111-8111-111111111111";
constexpr const char* kTwo = "22222222-2222-4222-8222-222222222222";

class CommandDu : public ::testing::Test {
 protected:
  void SetUp() override {
    put("-work", kOne, "/work", "find the kite");
    put("-play", kTwo, "/play", "fly it");
    write("projects/-work/" + std::string(kOne) + "/subagents/agent-1.jsonl",
          row(kOne, "/work", "helped", R"("isSidechain":true,"agentId":"1",)"));
    write("projects/-work/" + std::string(kOne) + "/tool-results/out.txt", std::string(5000, 'x'));
    write("file-history/" + std::string(kOne) + "/a@v1", std::string(70'000, 'y'));
    write("file-history/other/b@v1", std::string(900'000, 'z'));
  }
  static std::string row(const std::string& id, const std::string& cwd, const std::string& text,
                         const std::string& more = "") {
    return R"({"type":"user","uuid":"a","parentUuid":null,)" + more + R"("sessionId":")" + id + R"(","cwd":")" + cwd +
           R"(","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":")" + text + "\"}}\n";
  }
  void put(const std::string& folder, const std::string& id, const std::string& cwd, const std::string& text) const {
    write("projects/" + folder + "/" + id + ".jsonl", row(id, cwd, text));
  }
  void write(const std::string& path, const std::string& bytes) const {
    const std::filesystem::path file = std::filesystem::path(claude.root()) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << bytes;
  }
  [[nodiscard]] std::uint64_t size(const std::string& path) const {
    return std::filesystem::file_size(std::filesystem::path(claude.root()) / path);
  }
  [[nodiscard]] std::uint64_t size_of_one() const {
    const std::string project = "projects/-work/" + std::string(kOne);
    return size(project + ".jsonl") + size(project + "/subagents/agent-1.jsonl") + 5000 + 70'000;
  }
  std::string out(std::vector<std::string> words) {
    words.insert(words.begin() + 1, "--store=claude=" + claude.root());
    EXPECT_EQ(terminal.run(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }
  /// The sizes of the rows, and their member `name`.
  std::vector<std::pair<std::string, std::uint64_t>> rows(const std::vector<std::string>& words, const char* name) {
    json::Document answer;
    EXPECT_TRUE(json::parse(out(words), answer));
    total = json::member(answer, "total")->GetDouble();
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (const json::Value& one : json::member(answer, "rows")->GetArray()) {
      found.emplace_back(json::text_member(one, name), json::member(one, "bytes")->GetDouble());
    }
    return found;
  }

  testing::TempStore claude;
  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::Variable data{"XDG_DATA_HOME", scratch.root() + "/data"};
  testing::FakeTerminal terminal;
  double total = 0;
};

TEST_F(CommandDu, ProjectsAreListedByWhatTheirSessionsOccupy) {
  const std::uint64_t two = size("projects/-play/" + std::string(kTwo) + ".jsonl");
  EXPECT_THAT(rows({"du", "--json"}, "project"),
              ElementsAre(std::pair<std::string, std::uint64_t>("work", size_of_one()),
                          std::pair<std::string, std::uint64_t>("play", two)));
  EXPECT_EQ(total, static_cast<double>(size_of_one() + two)) << "a sub-agent's log counts once";
  EXPECT_THAT(out({"du"}), HasSubstr("1 session"));
}

TEST_F(CommandDu, ASessionIsListedByItsParts) {
  const auto parts = rows({"du", kOne, "--json"}, "path");
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].first, claude.root() + "/file-history/" + kOne);
  EXPECT_EQ(parts[0].second, 70'000U);
  EXPECT_EQ(total, static_cast<double>(size_of_one()));
  EXPECT_THAT(out({"du", kOne}), Not(HasSubstr("other")));
}

TEST_F(CommandDu, ProjectsAndSessionsMayBeNamedTogether) {
  EXPECT_THAT(rows({"du", "work", kTwo, "--json"}, "session"),
              ElementsAre(::testing::Pair(kOne, size_of_one()), ::testing::Pair(kTwo, ::testing::_)));
  EXPECT_THAT(rows({"du", "work", kOne, "--json"}, "session").size(), 2U);
  EXPECT_EQ(total, static_cast<double>(size_of_one())) << "a session that is named twice counts once";
  EXPECT_EQ(terminal.run({"du", "--store=claude=" + claude.root(), "nothing"}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("no session and no project is named 'nothing'"));
}

TEST_F(CommandDu, LsShowsTheSizeIfItIsAsked) {
  EXPECT_THAT(out({"ls", "--json"}), Not(HasSubstr("occupied")));
  EXPECT_THAT(out({"ls", "--size", "--json"}), HasSubstr("\"occupied\":" + std::to_string(size_of_one())));
  EXPECT_THAT(out({"ls", "--size"}), HasSubstr("OCCUPIES"));
}

TEST_F(CommandDu, BlobsThatSessionsShareAreNotInTheTotal) {
  testing::TempStore omp;
  omp.write("-work", "2026-01-01T10-00-00-000Z_aaaa000011112222", testing::TempStore::two_entries());
  const std::string hash(64, 'a');
  std::filesystem::create_directories(omp.root() + "/blobs");
  std::ofstream(omp.root() + "/blobs/" + hash) << std::string(3000, 'b');
  ASSERT_EQ(terminal.run({"du", "--store=omp=" + omp.root(), "--json"}), kDone) << terminal.err.str();
  json::Document answer;
  ASSERT_TRUE(json::parse(terminal.out.str(), answer));
  EXPECT_EQ(json::member(answer, "total")->GetDouble(), testing::TempStore::two_entries().size());
  const auto* shared = json::member(answer, "shared");
  ASSERT_EQ(shared->Size(), 1U);
  EXPECT_EQ(json::member((*shared)[0], "bytes")->GetDouble(), 3000);
}

TEST(Table, LeavesOptionalColumnsOutWhereItIsNarrow) {
  Table table({{"NAME", false, true}, {"SIZE", true, false, true}, {"STATE"}});
  table.add({std::string(30, 'n'), "12M", "quiet"});
  EXPECT_THAT(table.lines(0)[0], HasSubstr("SIZE"));
  EXPECT_THAT(table.lines(40)[0], HasSubstr("SIZE"));
  EXPECT_THAT(table.lines(30)[0], Not(HasSubstr("SIZE")));
  EXPECT_THAT(table.lines(30)[1], ::testing::EndsWith("quiet"));
}

}  // namespace
}  // namespace arborfs::cli
