// What files.tsv and commands.txt make of the calls of tools: paths, patches, exit statuses, odd records.
#include "core/views/session_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/json/document.h"
#include "core/session/catalog.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

using ::testing::HasSubstr;

constexpr const char* kThread = "019c4740-4400-7084-801f-000000000001";

class SessionWorkOfCodex : public ::testing::Test {
 protected:
  void call(const std::string& name, const std::string& arguments, const std::string& output = "") {
    const std::string id = "c" + std::to_string(++calls_);
    item(json::Text::object()
             .add("type", "function_call")
             .add("name", name)
             .add("arguments", arguments)
             .add("call_id", id));
    if (!output.empty()) {
      item(json::Text::object().add("type", "function_call_output").add("call_id", id).add("output", output));
    }
  }
  void patch(const std::string& text) {
    item(json::Text::object()
             .add("type", "custom_tool_call")
             .add("name", "apply_patch")
             .add("input", text)
             .add("call_id", "p1"));
  }
  SessionWork work() {
    const std::string folder = temp_.root() + "/sessions/2026/05/01";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/rollout-2026-05-01T10-00-00-" + kThread + ".jsonl")
        << R"({"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":")" << kThread
        << R"(","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/work/kite"}})"
        << "\n"
        << lines_;
    auto stores = open_stores({{"codex", temp_.root(), false}}, Access::look);
    EXPECT_TRUE(stores);
    catalog_ = std::make_unique<Catalog>(*std::move(stores), "/home/sam", "");
    catalog_->rescan();
    const SessionPtr session = catalog_->view()->by_id.front().second;
    EXPECT_TRUE(session->refresh(Depth::index));
    auto work = session_work(*session);
    EXPECT_TRUE(work) << work.error().message;
    return *std::move(work);
  }

  void repeat() { lines_ += lines_; }
  void add_item(const std::string& payload) {
    lines_ += json::Text::object()
                  .add("timestamp", "2026-05-01T10:00:0" + std::to_string(calls_ % 10) + ".000Z")
                  .add("type", "response_item")
                  .add_json("payload", payload)
                  .str() +
              "\n";
  }

 private:
  void item(const json::Text& payload) { add_item(payload.str()); }
  testing::TempStore temp_;
  testing::Variable zone_{"TZ", "UTC"};
  std::string lines_;
  std::unique_ptr<Catalog> catalog_;
  unsigned calls_ = 0;
};

TEST_F(SessionWorkOfCodex, CommandsHaveTheirFolderAndHowTheyEnded) {
  call("exec_command", R"({"cmd":"make","workdir":"sub"})", "Process exited with code 2\nOutput:\nno rule");
  call("shell", R"({"command":["bash","-lc","ls | wc -l"]})", R"({"output":"3\n","metadata":{"exit_code":0}})");
  call("shell", R"({"command":["git","status"],"workdir":"/srv"})");
  call("exec_command", R"({"cmd":""})");
  call("exec_command", R"(not JSON)");
  call("update_plan", R"({"cmd":"no command"})");
  const SessionWork work = this->work();
  ASSERT_EQ(work.commands.size(), 3U);
  EXPECT_EQ(work.commands[0].folder, "/work/kite/sub");
  EXPECT_EQ(work.commands[0].status, 2);
  EXPECT_TRUE(work.commands[0].has_failed);
  EXPECT_EQ(work.commands[1].command, "ls | wc -l");
  EXPECT_EQ(work.commands[1].status, 0);
  EXPECT_FALSE(work.commands[1].has_failed);
  EXPECT_EQ(work.commands[2].command, "git status");
  EXPECT_FALSE(work.commands[2].has_result);
  EXPECT_EQ(commands_text(work),
            "# entry 1 · 2026-05-01 10:00:01 +0000 · /work/kite/sub · exit 2\nmake\n\n"
            "# entry 3 · 2026-05-01 10:00:02 +0000 · /work/kite · exit 0\nls | wc -l\n\n"
            "# entry 5 · 2026-05-01 10:00:03 +0000 · /srv · no result\ngit status\n");
}

TEST_F(SessionWorkOfCodex, AnOutputThatOnlyMentionsAStatusHasNone) {
  call("exec_command", R"({"cmd":"cat notes"})", "The tool gives exit code 3 on error.");
  call("exec_command", R"({"cmd":"sleep 9"})", "Process running with session ID 5\nOutput:\nexit code 9");
  call("shell", R"({"command":["log"]})", R"({"output":"Exit code: 7 in the log\n","metadata":{"exit_code":0}})");
  call("shell", R"({"command":["odd"]})", R"({"output":"","metadata":{"exit_code":1e300}})");
  const SessionWork work = this->work();
  ASSERT_EQ(work.commands.size(), 4U);
  EXPECT_EQ(work.commands[0].status, std::nullopt);
  EXPECT_EQ(work.commands[1].status, std::nullopt);
  EXPECT_EQ(work.commands[2].status, 0);
  EXPECT_EQ(work.commands[3].status, std::nullopt);
}

TEST_F(SessionWorkOfCodex, ACallThatStandsThereTwiceCountsOnce) {
  call("exec_command", R"({"cmd":"make"})", "Process exited with code 0\nOutput:\n");
  repeat();
  EXPECT_EQ(work().commands.size(), 1U);
}

TEST_F(SessionWorkOfCodex, TheShellOfTheModelItselfCounts) {
  add_item(
      R"({"type":"local_shell_call","call_id":"l1","action":{"type":"exec","command":["bash","-lc","make test"]}})");
  const SessionWork work = this->work();
  ASSERT_EQ(work.commands.size(), 1U);
  EXPECT_EQ(work.commands[0].command, "make test");
}

TEST_F(SessionWorkOfCodex, PatchesNameTheirFiles) {
  patch("*** Begin Patch\n*** Update File: src/a.cc\n@@\n-x\n+y\n*** Add File: /tmp/b\n+z\n*** End Patch");
  call("shell", R"({"command":["apply_patch","*** Begin Patch\n*** Delete File: ./src/../src/a.cc\n*** End Patch"]})");
  call("shell", R"({"command":["apply_patch","*** Begin Patch\n*** Update File: c\r\n*** Move to: d\n*** End Patch"],)"
                R"("workdir":"/w2/sub"})");
  EXPECT_EQ(files_tsv(work()),
            "path\treads\tedits\twrites\tlast\tentries\n"
            "/tmp/b\t0\t0\t1\t2026-05-01T10:00:00.000Z\t1\n"
            "/w2/sub/c\t0\t1\t0\t2026-05-01T10:00:02.000Z\t3\n"
            "/w2/sub/d\t0\t0\t1\t2026-05-01T10:00:02.000Z\t3\n"
            "/work/kite/src/a.cc\t0\t2\t0\t2026-05-01T10:00:01.000Z\t1,2\n");
}

TEST_F(SessionWorkOfCodex, WhatATerminalObeysIsShown) {
  call("exec_command", "{\"cmd\":\"echo \\u001b[31m\\nls\",\"workdir\":\"/a\\nb\"}", "done");
  EXPECT_THAT(commands_text(work()), HasSubstr("/a b · done\necho ^[[31m\nls\n"));
}

TEST_F(SessionWorkOfCodex, ASessionWithoutCallsHasNone) {
  const SessionWork none = work();
  EXPECT_EQ(commands_text(none), "");
  EXPECT_EQ(files_tsv(none), "path\treads\tedits\twrites\tlast\tentries\n");
}

}  // namespace
}  // namespace arborfs
