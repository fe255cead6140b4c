// The verb that moves old sessions to the trash.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <istream>
#include <streambuf>
#include <string>
#include <utility>

#include "tests/support/paths.h"
#include "tests/unit/command_write_support.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::TempStore;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// The session of WritingTest is new; the others have ids old00 to old04 and are 100 days plus that number of days old.
class CommandPruneTest : public ::arborfs::testing::WritingTest {
 protected:
  static constexpr int kOld = 5;
  CommandPruneTest() {
    for (int i = 0; i < kOld; ++i) {
      const std::string id = id_of(i);
      store.write(kFolder, id,
                  TempStore::header(id, store.root()) + "\n" + TempStore::user("e1e1e1e1", "", "words") + "\n" +
                      (i == 1 ? labelled() : ""));
      fs::last_write_time(store.log(kFolder, id),
                          fs::file_time_type::clock::now() - std::chrono::hours(24 * (100 + i)));
    }
  }
  static std::string id_of(int i) { return "old0" + std::to_string(i) + "0000"; }
  static std::string labelled() {
    return R"({"type":"label","id":"e2e2e2e2","parentId":"e1e1e1e1","timestamp":"2026-02-16T10:20:32.000Z",)"
           R"("targetId":"e1e1e1e1","label":"keep"})"
           "\n";
  }
  [[nodiscard]] std::string left() const {
    std::string ids;
    for (int i = 0; i < kOld; ++i) {
      ids += fs::exists(store.log(kFolder, id_of(i))) ? std::to_string(i) : "";
    }
    return ids;
  }
};

TEST_F(CommandPruneTest, OldSessionsGoToTheTrashAndLabelledOnesStay) {
  EXPECT_EQ(run({"prune", "--keep-count=2", "-n"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("would remove " + id_of(4) + " (words)\n"));
  EXPECT_THAT(out(), HasSubstr("3 sessions would be removed, 3 kept: 1 young, 1 of the newest 2, 1 labelled\n"));
  EXPECT_EQ(left(), "01234");
  EXPECT_EQ(run({"prune", "-y", "--keep-count=2"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("removed " + id_of(4) + " (words)\n"));
  EXPECT_THAT(out(), HasSubstr("3 sessions removed, 3 kept: 1 young, 1 of the newest 2, 1 labelled\n"));
  EXPECT_EQ(left(), "01");
  EXPECT_EQ(run({"trash"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("  words  ")) << "the first message of a session without a title";
  EXPECT_EQ(run({"restore", "latest"}), kDone) << err();
  EXPECT_EQ(left().size(), 3U);
  EXPECT_EQ(run({"prune", "-y", "--keep-count=0", "--labelled", "--json"}), kDone) << err();
  EXPECT_EQ(left(), "");
  EXPECT_TRUE(fs::exists(log()));
  EXPECT_EQ(result()["dryRun"], "false");
  EXPECT_EQ(result()["kept"], R"({"young":1,"newest":0,"labelled":0,"live":0,"refused":0})");
  EXPECT_EQ(result()["remaining"], "1");
}

TEST_F(CommandPruneTest, DefaultsKeepFiftySessions) {
  EXPECT_EQ(run({"prune"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("0 sessions removed, 6 kept: 1 young, 5 of the newest 50\n"));
  EXPECT_EQ(left(), "01234");
}

TEST_F(CommandPruneTest, ATagOfClaudeCodeThatIsNoneOfArborfsKeepsItsSession) {
  const testing::TempStore claude;
  const std::string id = "11111111-1111-4111-8111-111111111111";
  const std::string rows = R"({"type":"user","uuid":"a","parentUuid":null,"sessionId":")" + id +
                           R"(","cwd":"/work","timestamp":"2026-01-01T10:00:00.000Z",)"
                           R"("message":{"role":"user","content":"old"}})"
                           "\n";
  const auto prune = [&](const std::string& tag) {
    claude.write("../projects/-work", id,
                 rows + R"({"type":"tag","tag":")" + tag + R"(","sessionId":")" + id + "\"}\n");
    fs::last_write_time(claude.log("../projects/-work", id),
                        fs::file_time_type::clock::now() - std::chrono::hours(24 * 99));
    EXPECT_EQ(run({"prune", "-n", "-a", "claude", "--keep-count=0", "--store=claude=" + claude.root()}), kDone)
        << err();
    return out();
  };
  EXPECT_THAT(prune("release 2"), HasSubstr("0 sessions would be removed, 1 kept: 1 labelled"));
  EXPECT_THAT(prune(""), HasSubstr("1 session would be removed"));
}

TEST_F(CommandPruneTest, OptionsSelectSessions) {
  EXPECT_EQ(run({"prune", "--keep-count=0", "--agent=pi"}), kFailed);
  EXPECT_EQ(run({"prune", "--keep-count=0", "--project=nowhere"}), kFailed);
  EXPECT_EQ(run({"prune", "--keep-days=-1"}), kUsage);
  EXPECT_EQ(left(), "01234");
  EXPECT_EQ(run({"prune", "-y", "--keep-count=0", "--keep-days=102", "--agent=omp", "--project=" + store.root()}),
            kDone)
      << err();
  EXPECT_EQ(left(), "01");
}

TEST_F(CommandPruneTest, AFolderThatCannotBeResolvedMeansNoSession) {
  const std::string loop = store.root() + "/loop";
  fs::create_symlink(loop, loop);
  store.write(kFolder, "nowhere", TempStore::header("nowhere0", "") + "\n");
  fs::last_write_time(store.log(kFolder, "nowhere"), fs::file_time_type::clock::now() - std::chrono::hours(24 * 200));
  EXPECT_EQ(run({"prune", "--keep-count=0", "-p", loop}), kFailed) << out();
  EXPECT_TRUE(fs::exists(store.log(kFolder, "nowhere")));
}

TEST_F(CommandPruneTest, OnATerminalTheUserIsAskedOnce) {
  std::istringstream no("n\n");
  terminal.io.in = &no;
  terminal.io.in_is_terminal = true;
  EXPECT_EQ(run({"prune", "--keep-count=0"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("remove these 4 sessions? [y/N]"));
  EXPECT_EQ(left(), "01234");
  EXPECT_EQ(run({"prune", "--keep-count=0", "--yes"}), kDone) << err();
  EXPECT_EQ(left(), "1");
}

TEST_F(CommandPruneTest, WithoutATerminalNothingIsRemovedUnasked) {
  terminal.type("n\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"prune", "--keep-count=0"}, {"rm", id_of(0)}}) {
    EXPECT_EQ(run(words), kFailed);
    EXPECT_THAT(err(), HasSubstr("arborfs: not removed: standard input is no terminal at which to ask; give --yes"));
    EXPECT_EQ(left(), "01234");
  }
  EXPECT_EQ(run({"rm", "-y", id_of(0)}), kDone) << err();
  EXPECT_EQ(run({"trash", "empty"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("arborfs: not deleted: standard input is no terminal"));
  EXPECT_EQ(run({"restore", "latest"}), kDone) << err();
}

/// A user who takes time before the answer.
class SlowAnswer : public std::streambuf {
 public:
  explicit SlowAnswer(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}

 protected:
  int_type underflow() override {
    if (text_.empty()) {
      meanwhile_();
      text_ = "y\n";
      setg(text_.data(), text_.data(), text_.data() + text_.size());
      return traits_type::to_int_type(text_.front());
    }
    return traits_type::eof();
  }

 private:
  const std::function<void()> meanwhile_;
  std::string text_;
};

TEST_F(CommandPruneTest, WhatIsWrittenOrLabelledBeforeTheAnswerStays) {
  SlowAnswer answer([&] {
    const fs::path log = store.log(kFolder, id_of(2));
    const auto before = fs::last_write_time(log);
    std::ofstream(log, std::ios::app) << labelled();
    fs::last_write_time(log, before);
    fs::last_write_time(store.log(kFolder, id_of(3)), fs::file_time_type::clock::now());
  });
  std::istream in(&answer);
  terminal.io.in = &in;
  terminal.io.in_is_terminal = true;
  EXPECT_EQ(run({"prune", "--keep-count=0"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("2 sessions removed, 4 kept: 2 young, 2 labelled\n"));
  EXPECT_EQ(left(), "123");
}

}  // namespace
}  // namespace arborfs::cli
