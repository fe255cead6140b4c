// The prompts typed to Claude Code and Codex: what is read from history.jsonl, and how lines join it.
#include "core/store/prompt_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/formats/claude/format.h"
#include "core/formats/codex/format.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kLate = 1777629600;

class PromptLinesTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return store.root() + "/history.jsonl"; }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::vector<Prompt> read(const PromptHistory& history, const PromptHistory::Span& span = {}) {
    std::vector<Prompt> found;
    const auto done = history.read(span, {[&] { found.clear(); },
                                          [&](Prompt prompt) {
                                            found.push_back(std::move(prompt));
                                            return true;
                                          }});
    EXPECT_TRUE(done) << done.error().message;
    return found;
  }
  static std::vector<std::string> texts(const PromptHistory& history, const PromptHistory::Span& span = {}) {
    std::vector<std::string> texts;
    for (const Prompt& prompt : read(history, span)) {
      texts.push_back(prompt.text);
    }
    return texts;
  }
  [[nodiscard]] std::unique_ptr<PromptHistory> claude(Disk& disk = Disk::real()) const {
    return claude::prompt_history(store.root(), disk);
  }
  [[nodiscard]] std::unique_ptr<PromptHistory> codex() const {
    return codex::prompt_history(store.root(), Disk::real());
  }

  testing::TempStore store;
};

TEST_F(PromptLinesTest, PromptsComeNewestFirstByTheirTimes) {
  write(R"({"display":"first","pastedContents":{},"timestamp":1777629600000,"project":"/a","sessionId":"s1"})"
        "\n"
        R"({"display":"third","timestamp":1777629800999,"project":"/b"})"
        "\n"
        R"({"display":"second","timestamp":1777629700000,"project":"/a","sessionId":"s1"})"
        "\n");
  const auto prompts = read(*claude());
  ASSERT_EQ(prompts.size(), 3U);
  EXPECT_EQ(prompts[0].text, "third");
  EXPECT_EQ(prompts[0].time_s, kLate + 200);
  EXPECT_EQ(prompts[0].cwd, "/b");
  EXPECT_EQ(prompts[0].session, "");
  EXPECT_EQ(prompts[1].text, "second");
  EXPECT_EQ(prompts[2].session, "s1");
  EXPECT_THAT(texts(*claude(), {kLate, kLate + 100}), ElementsAre("second", "first"));
}

TEST_F(PromptLinesTest, LinesThatAreNoPromptsArePassedOver) {
  write(
      "\n[1]\n{\"display\":\"no time\"}\n{\"timestamp\":1}\nnot JSON\n"
      "{\"display\":\"whole\",\"timestamp\":5000}\n{\"display\":\"torn\",\"timest");
  EXPECT_THAT(texts(*claude()), ElementsAre("whole"));
}

TEST_F(PromptLinesTest, PastedTextStandsWhereItWasPasted) {
  std::filesystem::create_directory(store.root() + "/paste-cache");
  std::ofstream(store.root() + "/paste-cache/00ff00ff00ff00ff.txt") << "long\ntext";
  write(R"({"display":"a [Pasted text #1 +2 lines] b [Pasted text #2] c [Pasted text #3] [Image #4]",)"
        R"("pastedContents":{"1":{"id":1,"type":"text","content":"x\ny"},)"
        R"("2":{"id":2,"type":"text","contentHash":"00ff00ff00ff00ff"},)"
        R"("3":{"id":3,"type":"text","contentHash":"../../history"}},"timestamp":5000})"
        "\n");
  EXPECT_THAT(texts(*claude()), ElementsAre("a x\ny b long\ntext c [Pasted text #3] [Image #4]"));
}

TEST_F(PromptLinesTest, MarkersThatStandForNothingStayAndNoneCountsTwice) {
  const std::string piece = R"("pastedContents":{"1":{"id":1,"content":"ONE"},"12":{"id":12,"content":"TWELVE"}},)";
  write(R"({"display":"[Pasted text #1 [Pasted text #12 +3 lines] [Pasted text #1] [Pasted text #7] end",)" + piece +
        R"("timestamp":5000})"
        "\n"
        R"({"display":"[Pasted text #12] [Pasted text #12]",)" +
        piece +
        R"("timestamp":4000})"
        "\n");
  EXPECT_THAT(texts(*claude()), ElementsAre("ONE [Pasted text #1] [Pasted text #7] end", "TWELVE [Pasted text #12]"));
}

TEST_F(PromptLinesTest, PromptsOfCodexBelongToThreads) {
  write(R"({"session_id":"t1","ts":1777629600,"text":"fix it"})"
        "\n");
  const auto prompts = read(*codex());
  ASSERT_EQ(prompts.size(), 1U);
  EXPECT_EQ(prompts[0].time_s, kLate);
  EXPECT_EQ(prompts[0].session, "t1");
  EXPECT_EQ(codex()->add({kLate, "x", "/a", ""}, {}).error().code, Errc::invalid_argument);
  ASSERT_TRUE(codex()->add({kLate + 1, "x \"y\"", "/a", "t2"}, {}));
  EXPECT_THAT(bytes(), ::testing::EndsWith("\n{\"session_id\":\"t2\",\"ts\":1777629601,\"text\":\"x \\\"y\\\"\"}\n"));
}

TEST_F(PromptLinesTest, AddingEndsATornLineAndKeepsEveryByte) {
  write("{\"display\":\"torn");
  ASSERT_TRUE(claude()->add({kLate, "next", "/a", "s"}, {}));
  EXPECT_EQ(bytes(),
            "{\"display\":\"torn\n{\"display\":\"next\",\"pastedContents\":{},\"timestamp\":1777629600000,"
            "\"project\":\"/a\",\"sessionId\":\"s\"}\n");
}

TEST_F(PromptLinesTest, AMissingHistoryIsNoneAndIsCreatedForItsOwnerOnly) {
  EXPECT_EQ(claude()->state().error().code, Errc::not_found);
  ASSERT_TRUE(claude()->add({0, "now", "/a", ""}, {}));
  struct stat made {};
  ASSERT_EQ(::stat(path().c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777U, 0600U);
  EXPECT_THAT(texts(*claude()), ElementsAre("now"));
}

TEST_F(PromptLinesTest, TextsThatNobodyTypesAreRefused) {
  EXPECT_EQ(claude()->add({0, " \n", "/a", ""}, {}).error().code, Errc::invalid_argument);
  EXPECT_EQ(claude()->add({0, "\xff", "/a", ""}, {}).error().code, Errc::not_utf8);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(PromptLinesTest, AFullDiskLeavesTheHistoryAsItWas) {
  write("{\"display\":\"old\",\"timestamp\":5000}\n");
  const std::string before = bytes();
  for (const testing::Fault fault : {testing::Fault::no_space, testing::Fault::short_write}) {
    testing::FaultyDisk disk;
    const auto history = claude(disk);
    disk.arm(fault, 1, testing::FaultyDisk::kForGood);
    EXPECT_FALSE(history->add({kLate, "new", "/a", ""}, {}));
    EXPECT_EQ(bytes(), before);
  }
}

TEST_F(PromptLinesTest, NoPromptIsLostWhereManyProgramsAdd) {
  constexpr int kWriters = 4;
  constexpr int kEach = 50;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < kEach; ++i) {
        const std::string text = std::to_string(writer) + "." + std::to_string(i);
        if (writer == 0) {  // as an agent does
          write("{\"display\":\"" + text + "\",\"timestamp\":5000}\n");
        } else {
          EXPECT_TRUE(claude()->add({kLate, text, "/a", ""}, {.sync = false}));
        }
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_EQ(read(*claude()).size(), std::size_t{kWriters * kEach});
}

}  // namespace
}  // namespace arborfs
