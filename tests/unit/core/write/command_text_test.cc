// `arborfs text --code`: the code blocks of an answer.

#include "tests/unit/command_write_support.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::TempStore;
using ::testing::HasSubstr;

std::string reply(const std::string& id, const std::string& parent, const std::string& content) {
  return R"({"type":"message","id":")" + id + R"(","parentId":")" + parent +
         R"(","timestamp":"2026-02-16T10:20:32.000Z","message":{"role":"assistant","content":[)" + content + "]}}\n";
}

class CommandTextTest : public ::arborfs::testing::WritingTest {
 protected:
  CommandTextTest() {
    write(
        TempStore::header(kId, store.root()) + "\n" +
        TempStore::user("e1e1e1e1", "", R"(Why does this fail?\n```\nmake\n```)") + "\n" +
        reply("e2e2e2e2", "e1e1e1e1", R"({"type":"text","text":"So:\n```sh\nmake -j2\n```\nthen\n```\nninja\n```"})") +
        reply("e3e3e3e3", "e2e2e2e2",
              R"({"type":"thinking","thinking":"```\nthought\n```"},)"
              R"({"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"```"}})"));
  }
};

TEST_F(CommandTextTest, CodeIsThatOfTheLastAnswerWithText) {
  EXPECT_EQ(run({"text", kId, "--code"}), kDone) << err();
  EXPECT_EQ(out(), "make -j2\n\nninja\n");
  EXPECT_EQ(run({"text", kId, "last-user", "--code"}), kDone) << err();
  EXPECT_EQ(out(), "make\n");
}

TEST_F(CommandTextTest, CodeAsJsonNamesTheEntryAndTheLanguages) {
  EXPECT_EQ(run({"text", kId, "--code", "--json"}), kDone) << err();
  EXPECT_EQ(result()["id"], "e2e2e2e2");
  EXPECT_EQ(result()["session"], kId);
  EXPECT_EQ(result()["code"], R"([{"language":"sh","text":"make -j2\n"},{"language":"","text":"ninja\n"}])");
}

TEST_F(CommandTextTest, WithoutACodeBlockItFails) {
  expect_refused({"text", kId, "last-assistant", "--code"}, "the entry has no fenced code block; name another ENTRY");
  write(TempStore::header(kId, store.root()) + "\n" + TempStore::user("e1e1e1e1", "", "words") + "\n");
  expect_refused({"text", kId, "--code"}, "the branch has no answer of the assistant yet");
  write(TempStore::header(kId, store.root()) + "\n" + TempStore::user("e1e1e1e1", "", "words") + "\n" +
        reply("e2e2e2e2", "e1e1e1e1", R"({"type":"text","text":"nothing"})"));
  expect_refused({"text", kId, "--code"}, "no answer on the branch has a fenced code block");
}

TEST_F(CommandTextTest, ALeafAtTheRootIsNoEntry) {
  EXPECT_EQ(run({"branch", kId, "root"}), kDone) << err();
  expect_refused({"text", kId, "leaf"}, "the leaf is the root, before the first entry\n");
  expect_refused({"text", kId, "leaf", "--code"}, "the leaf is the root, before the first entry\n");
  write(TempStore::header(kId, store.root()) + "\n");
  expect_refused({"text", kId, "leaf"}, "the session has no entries\n");
}

TEST_F(CommandTextTest, OnATerminalCodeCannotControlIt) {
  write(TempStore::header(kId, store.root()) + "\n" + TempStore::user("e1e1e1e1", "", R"(```\n\u001b[2J\n```)") + "\n");
  terminal.io.out_is_terminal = true;
  EXPECT_EQ(run({"text", kId, "leaf", "--code"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("^[[2J\n"));
}

}  // namespace
}  // namespace arborfs::cli
