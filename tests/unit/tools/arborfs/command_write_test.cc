// The verbs that write, as whole command lines, checked by the bytes in the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "tests/support/paths.h"
#include "tests/support/stand_in.h"
#include "tests/unit/command_write_support.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::bytes_of;
using ::arborfs::testing::Line;
using ::arborfs::testing::lines_of;
using ::arborfs::testing::TempStore;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr char kIdLine[] = "[0-9a-f]{8}\n";

using CommandWriteTest = ::arborfs::testing::WritingTest;

TEST_F(CommandWriteTest, AppendTakesTheMessageFromItsArgument) {
  EXPECT_EQ(run({"append", kId, "fix \"the\" bug\nnow"}), kDone) << err();
  EXPECT_THAT(lines_of(log()), SizeIs(4));
  EXPECT_EQ(last()["type"], "message");
  EXPECT_EQ(last()["parentId"], "e2e2e2e2");
  EXPECT_EQ(last()["message.role"], "user");
  EXPECT_EQ(last()["message.content"], R"([{"type":"text","text":"fix \"the\" bug\nnow"}])");
  EXPECT_EQ(out(), last()["id"] + "\n");
  EXPECT_EQ(run({"append", "--json", kId, "more"}), kDone);
  EXPECT_EQ(result()["id"], last()["id"]);
  EXPECT_EQ(result()["parentId"], last()["parentId"]);
}

TEST_F(CommandWriteTest, AppendTakesTheMessageFromStandardInputOrAFile) {
  const std::string file = store.root() + "/prompt.md";
  std::ofstream(file) << "from a file\n";
  terminal.type("from a pipe\n");
  EXPECT_EQ(run({"append", kId}), kDone) << err();
  EXPECT_EQ(last()["message.content"], R"([{"type":"text","text":"from a pipe"}])");
  terminal.type("asked for\n");
  EXPECT_EQ(run({"append", kId, "-f", "-"}), kDone);
  EXPECT_EQ(last()["message.content"], R"([{"type":"text","text":"asked for"}])");
  EXPECT_EQ(run({"append", kId, "--file", file}), kDone);
  EXPECT_EQ(last()["message.content"], R"([{"type":"text","text":"from a file"}])");
  expect_refused({"append", kId, "-f", file + ".gone"}, "No such file");
  expect_refused({"append", kId, "-f", store.root()}, "is a folder");
}

TEST_F(CommandWriteTest, AppendTakesANoteForAgentsThatHaveThem) {
  const std::string claude = store.root() + "/claude";
  fs::copy(std::string(tests::kSourceDir) + "/tools/samples/claude", claude, fs::copy_options::recursive);
  const auto note = [&](const std::string& text) {
    return run({"append", "--note", "3de02c36", text, "--store=claude=" + claude});
  };
  EXPECT_EQ(note("{\"as\": \"it is\"}\n"), kDone) << err();
  EXPECT_EQ(run({"context", "3de02c36", "--store=claude=" + claude}), kDone);
  EXPECT_THAT(out(), HasSubstr(R"(<system-reminder>{\"as\": \"it is\"}</system-reminder>)"));
  EXPECT_EQ(note(""), kFailed);
  EXPECT_THAT(err(), HasSubstr("a note is a text that is not blank"));
  expect_refused({"append", "--note", kId, "x"}, "sessions of omp take no notes for the model");
  expect_refused({"append", "--queue", kId, "x"}, "sessions of omp have no queue");
}

TEST_F(CommandWriteTest, AppendDoesNotReadFromATerminalUnasked) {
  terminal.io.in_is_terminal = true;
  EXPECT_EQ(run({"append", kId}), kUsage);
  EXPECT_THAT(err(), AllOf(HasSubstr("a message is needed"), HasSubstr("arborfs append --help")));
  terminal.type("typed\n");
  EXPECT_EQ(run({"append", kId, "-f-"}), kDone) << "it was asked to";
}

TEST_F(CommandWriteTest, AppendIsAllOrNothing) {
  terminal.type(
      "\n{\"type\":\"custom\",\"customType\":\"note\",\"data\":1}\n"
      "{\"role\":\"user\",\"content\":\"hello\"}\n");
  EXPECT_EQ(run({"append", kId}), kDone) << err();
  const auto lines = lines_of(log());
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(Line(lines[3])["customType"], "note");
  EXPECT_EQ(last()["message.content"], "hello");
  EXPECT_EQ(last()["parentId"], Line(lines[3])["id"]);
  terminal.type("{\"type\":\"custom\",\"customType\":\"note\"}\n{\"type\":\"nothing\"}\n");
  expect_refused({"append", kId}, "object 2");
  expect_refused({"append", kId, "{}"}, "a message needs \"role\"");
  expect_refused({"append", kId, "{not json"}, "JSON");
}

TEST_F(CommandWriteTest, AppendTakesAParentEntry) {
  EXPECT_EQ(run({"append", kId, "beside it", "--at", "e1e1e1e1"}), kDone) << err();
  EXPECT_EQ(last()["parentId"], "e1e1e1e1");
  EXPECT_EQ(run({"append", kId, "behind it"}), kDone);
  EXPECT_EQ(last()["message.content"], R"([{"type":"text","text":"behind it"}])");
  EXPECT_EQ(last()["parentId"], Line(lines_of(log())[3])["id"]);
  EXPECT_EQ(run({"append", kId, "first again", "--at=root"}), kDone);
  EXPECT_EQ(last()["parentId"], "null");
  EXPECT_EQ(run({"append", kId, "at the leaf", "--at=leaf"}), kDone);
  EXPECT_EQ(last()["parentId"], Line(lines_of(log())[5])["id"]);
  expect_refused({"append", kId, "nowhere", "--at", "ffffffff"}, "no entry of the session has this name");
}

TEST_F(CommandWriteTest, SpecialWordsAreTextInTextArguments) {
  for (const char* text : {"ls", "latest", "{}", "[x]", "a,b", "%%", ""}) {
    EXPECT_EQ(run({"label", kId, "e1e1e1e1", text}), kDone) << text << ": " << err();
    EXPECT_EQ(last()["label"], *text == '\0' ? "absent" : text);
  }
  EXPECT_EQ(run({"append", kId, "--", "--force"}), kDone) << err();
  EXPECT_EQ(last()["message.content"], R"([{"type":"text","text":"--force"}])");
}

TEST_F(CommandWriteTest, EmptyAndNonUtf8TextIsRefused) {
  const std::string bad = "caf\xe9";
  expect_refused({"append", kId, ""}, "empty");
  terminal.type("\n");
  expect_refused({"append", kId}, "empty");
  terminal.type(bad);
  expect_refused({"append", kId}, "not UTF-8");
  expect_refused({"append", kId, bad}, "not UTF-8");
  expect_refused({"append", kId, "{\"role\":\"user\",\"content\":\"" + bad + "\"}"}, "not UTF-8");
  expect_refused({"branch", kId, "e1e1e1e1", bad}, "not UTF-8");
  expect_refused({"label", kId, "e1e1e1e1", bad}, "not UTF-8");
  expect_refused({"title", kId, bad}, "not UTF-8");
  expect_refused({"new", store.root() + "/" + bad}, "not UTF-8");
  expect_refused({"title", kId, " \n"}, "empty");
}

TEST_F(CommandWriteTest, ReadOnlyLogsAreNotChanged) {
  const std::string entry = TempStore::user("e1e1e1e1", "", "one") + "\n";
  for (const std::string& bytes : {R"({"type":"session","version":4,"id":"aaaa000011112222","cwd":"/x"})"
                                   "\n" +
                                       entry,
                                   entry}) {
    write(bytes);
    const std::string session = log().string();
    for (const auto& words : std::vector<std::vector<std::string>>{{"append", session, "text"},
                                                                   {"branch", session, "e1e1e1e1"},
                                                                   {"branch", session, "e1e1e1e1", "tried"},
                                                                   {"label", session, "e1e1e1e1", "here"},
                                                                   {"title", session, "new"},
                                                                   {"fork", session}}) {
      expect_refused(words, bytes == entry ? "has no valid header" : "has a version");
    }
  }
}

/// An omp started to resume the session.
testing::StandInLook omp_with_session(const std::string& agent_dir, const std::string& id) {
  testing::StandInLook look;
  look.path = agent_dir + "/bin/omp";
  look.arguments = {"--resume", id};
  look.environment = {{"PI_CODING_AGENT_DIR", agent_dir}};
  return look;
}

TEST_F(CommandWriteTest, PossiblyLiveSessionsNeedForce) {
  const testing::StandIn omp(omp_with_session(store.root(), kId));
  const std::vector<std::vector<std::string>> commands = {
      {"append", kId, "text"}, {"append", kId, R"({"role":"user","content":"x"})"},
      {"branch", kId, "#1"},   {"branch", kId, "#1", "tried"},
      {"label", kId, "#1"},    {"title", kId, "new"},
      {"rm", "-y", kId}};
  for (const auto& words : commands) {
    expect_refused(words,
                   "the session may be live: omp (process " + std::to_string(omp.pid()) + ") was started with it");
  }
  for (auto words : commands) {
    words.emplace_back("--force");
    EXPECT_EQ(run(words), kDone) << words[0] << ": " << err();
  }
  EXPECT_FALSE(fs::exists(log()));
}

TEST_F(CommandWriteTest, ForkOfALiveSessionNeedsNoForce) {
  const testing::StandIn omp(omp_with_session(store.root(), kId));
  EXPECT_EQ(run({"fork", kId}), kDone) << err();
}

TEST_F(CommandWriteTest, SessionsOfOneMinuteHaveThePathsThatAMountShows) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"fork", kId, "--json"},
                                                {"fork", kId, "--json"},
                                                {"new", store.root(), "--json"},
                                                {"new", store.root(), "--json"}}) {
    ASSERT_EQ(run(words), kDone) << err();
    const Line made = result();
    auto stores = open_stores({{"omp", store.root(), false}}, Access::look);
    ASSERT_TRUE(stores);
    Catalog mounted(*std::move(stores), "/home/dev", "");
    mounted.rescan();
    ASSERT_TRUE(mounted.read_names());
    const auto session = mounted.find(made["session"]);
    ASSERT_TRUE(session);
    EXPECT_EQ(made["path"], mounted.view()->path_of((*session)->number()));
  }
}

TEST_F(CommandWriteTest, ForkLeavesOutEntriesAndOutputs) {
  const std::string call = R"({"role":"assistant","content":[{"type":"text","text":"I look"},)"
                           R"({"type":"toolCall","id":"c1","name":"read","arguments":{"path":"big"}}]})";
  const std::string output = R"({"role":"toolResult","toolCallId":"c1","toolName":"read",)"
                             R"("content":[{"type":"text","text":"a big output"}],"isError":false})";
  EXPECT_EQ(run({"append", kId, call}), kDone) << err();
  EXPECT_EQ(run({"append", kId, output}), kDone) << err();
  const auto forked = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"fork", kId, "--json"};
    words.insert(words.end(), options.begin(), options.end());
    EXPECT_EQ(run(words), kDone) << err();
    EXPECT_EQ(run({"context", result()["session"]}), kDone) << err();
    return out();
  };
  EXPECT_THAT(forked({"--without", "#4"}),
              AllOf(HasSubstr("I look"), Not(HasSubstr("c1")), Not(HasSubstr("big output"))));
  EXPECT_THAT(forked({"--redact-output", "#3"}),
              AllOf(HasSubstr("c1"), HasSubstr("was left out"), Not(HasSubstr("a big output"))));
  EXPECT_THAT(forked({"--without", "#1,#3"}), AllOf(Not(HasSubstr("I look")), Not(HasSubstr("big output"))));
  expect_refused({"fork", kId, "--redact-output", "#1"}, "entry #1 has no output of a tool to leave out\n");
  expect_refused({"fork", kId, "#2", "--without", "#4"}, "entry '#4' is not in the context of the fork");
  EXPECT_EQ(run({"append", kId, R"({"type":"custom","customType":"x","data":1})"}), kDone) << err();
  expect_refused({"fork", kId, "--without", "#5"}, "entry '#5' is not in the context of the fork");
}

TEST_F(CommandWriteTest, DurabilityNoneWritesTheSame) {
  EXPECT_EQ(run({"append", kId, "text", "--durability=none"}), kDone) << err();
  EXPECT_THAT(lines_of(log()), SizeIs(4));
  EXPECT_EQ(run({"new", store.root(), "--durability", "none"}), kDone) << err();
}

TEST_F(CommandWriteTest, BranchMovesTheLeafWithoutWritingTheLog) {
  const std::string before = bytes_of(log());
  EXPECT_EQ(run({"branch", kId, "e1e1"}), kDone) << err();
  EXPECT_EQ(out(), "e1e1e1e1\n");
  EXPECT_EQ(bytes_of(log()), before);
  EXPECT_EQ(run({"text", kId, "leaf"}), kDone);
  EXPECT_EQ(out(), "first words\n");
  EXPECT_EQ(run({"append", kId, "the other way"}), kDone);
  EXPECT_EQ(last()["parentId"], "e1e1e1e1");
  EXPECT_EQ(run({"branch", kId, "root", "--json"}), kDone);
  EXPECT_EQ(result()["leaf"], "root");
  expect_refused({"branch", kId, "ffff"}, "no entry of the session has this name");
}

TEST_F(CommandWriteTest, WordsNameTheLastMessagesOfTheCurrentBranch) {
  EXPECT_EQ(run({"append", kId, R"({"role":"assistant","content":[{"type":"text","text":"the answer"}]})"}), kDone)
      << err();
  const std::string answer = last()["id"];
  EXPECT_EQ(run({"label", kId, "last-user", "asked"}), kDone) << err();
  EXPECT_EQ(last()["targetId"], "e2e2e2e2");
  EXPECT_EQ(run({"text", kId, "last"}), kDone);
  EXPECT_EQ(out(), "the answer\n") << "the label is no message";
  EXPECT_EQ(run({"append", kId, "a detail", "--at=last-assistant"}), kDone) << err();
  EXPECT_EQ(last()["parentId"], answer);
  EXPECT_EQ(run({"fork", kId, "last-assistant", "--json"}), kDone) << err();
  EXPECT_EQ(run({"branch", kId, "e1e1e1e1"}), kDone);
  EXPECT_EQ(run({"text", kId, "last-user"}), kDone);
  EXPECT_EQ(out(), "first words\n") << "messages of other branches do not count";
  for (const char* verb : {"text", "branch", "label", "fork"}) {
    expect_refused({verb, kId, "last-assistant"}, "the current branch has no message of the assistant");
  }
  expect_refused({"append", kId, "more", "--at=last-assistant"}, "no message of the assistant");
}

TEST_F(CommandWriteTest, ACaretNamesTheEntryBefore) {
  EXPECT_EQ(run({"branch", kId, "last-user^", "--json"}), kDone) << err();
  EXPECT_EQ(result()["leaf"], "e1e1e1e1");
  EXPECT_EQ(run({"append", kId, "another way"}), kDone) << err();
  EXPECT_EQ(last()["parentId"], "e1e1e1e1");
  EXPECT_EQ(run({"branch", kId, "e2e2^^", "--json"}), kDone) << err();
  EXPECT_EQ(result()["leaf"], "root");
  EXPECT_EQ(run({"text", kId, "#2^"}), kDone) << err();
  EXPECT_EQ(out(), "first words\n");
  EXPECT_EQ(run({"label", kId, "e2e2e2e2", "odd^"}), kDone) << err();
  EXPECT_EQ(run({"branch", kId, "odd^", "--json"}), kDone) << err();
  EXPECT_EQ(result()["leaf"], "e2e2e2e2") << "a label with this name";
  expect_refused({"branch", kId, "e2e2^^^"}, "'e2e2^^^': the session has no entry so far before it");
  for (const char* const verb : {"context", "text", "fork", "label"}) {
    expect_refused({verb, kId, "e1e1^"}, "'e1e1^': there is no entry before the first one");
  }
  expect_refused({"branch", kId, "ffff^"}, "no entry of the session has this name");
  expect_refused({"branch", kId, "^"}, "no entry of the session has this name");
}

TEST_F(CommandWriteTest, BranchReportsWhereAgentsContinue) {
  EXPECT_EQ(run({"branch", kId, "#1"}), kDone);
  EXPECT_EQ(out(), "e1e1e1e1\n");
  EXPECT_THAT(err(), HasSubstr("continues at e2e2e2e2 until the next append; with --pin it continues at the new leaf"));
  EXPECT_EQ(run({"branch", kId, "#1", "--json"}), kDone);
  EXPECT_EQ(result()["agentLeaf"], "e2e2e2e2");
  EXPECT_EQ(err(), "");
  EXPECT_EQ(run({"show", kId, "--json"}), kDone);
  EXPECT_THAT(out(), HasSubstr("arborfs moved the leaf to e1e1e1e1; the agent continues at e2e2e2e2 until"));
  EXPECT_EQ(run({"branch", kId, "#2"}), kDone);
  EXPECT_EQ(err(), "");
  EXPECT_EQ(run({"branch", kId, "#2", "--json"}), kDone);
  EXPECT_EQ(result()["agentLeaf"], "absent");
}

TEST_F(CommandWriteTest, PinMovesTheLeafForAgentsToo) {
  EXPECT_EQ(run({"context", kId, "#1"}), kDone);
  const std::string context = out();
  EXPECT_EQ(run({"branch", kId, "#1", "--pin", "--json"}), kDone) << err();
  EXPECT_EQ(last()["type"], "custom");
  EXPECT_EQ(last()["customType"], "arborfs.branch");
  EXPECT_EQ(last()["data"], "{}");
  EXPECT_EQ(last()["parentId"], "e1e1e1e1");
  EXPECT_EQ(result()["leaf"], last()["id"]);
  EXPECT_EQ(result()["pin"], last()["id"]);
  EXPECT_EQ(result()["agentLeaf"], "absent");
  EXPECT_EQ(run({"context", kId}), kDone);
  EXPECT_EQ(out(), context) << "models never see it";
  EXPECT_EQ(run({"branch", kId, "root", "--pin"}), kDone) << err();
  EXPECT_EQ(err(), "");
  EXPECT_EQ(last()["parentId"], "null");
  EXPECT_EQ(run({"branch", kId, "#1", "tried X", "--pin"}), kDone) << err();
  EXPECT_EQ(last()["type"], "branch_summary");
}

TEST_F(CommandWriteTest, EntriesAreNamedByFileName) {
  for (const std::string name :
       {"000001-user-e1e1e1e1", "000001-user-e1e1e1e1.json", "000001-user-e1e1e1e1.md", "e1e1e1e1.json", "1.md"}) {
    EXPECT_EQ(run({"text", kId, name}), kDone) << err();
    EXPECT_EQ(out(), "first words\n") << name;
    EXPECT_EQ(run({"branch", kId, name}), kDone) << err();
    EXPECT_EQ(out(), "e1e1e1e1\n") << name;
    EXPECT_EQ(run({"branch", kId, "#2"}), kDone) << err();
  }
  EXPECT_EQ(run({"label", kId, "#2", "1.json"}), kDone) << err();
  EXPECT_EQ(run({"text", kId, "1.json"}), kDone) << err();
  EXPECT_EQ(out(), "second\n") << "a label that is called so goes before";
  for (const char* name : {"000002-user-e1e1e1e1.json", "e1e1e1e1.jsonl", ".json", "000001-user-e1e1e1e1.json.md"}) {
    expect_refused({"branch", kId, name}, "no entry of the session has this name");
  }
}

TEST_F(CommandWriteTest, UnresolvedEntryNamesAreExplained) {
  write(bytes_of(log()) + TempStore::user("e1e1ffff", "e2e2e2e2", "third") + "\n");
  for (const char* verb : {"branch", "text", "fork", "label"}) {
    expect_refused({verb, kId, "e1e1"}, "'e1e1': more than one entry of the session has this name");
    expect_refused({verb, kId, "e2e"}, "'e2e': no entry of the session has this name; give at least four characters");
    expect_refused({verb, kId, "leef"},
                   "'leef': no entry of the session has this name; give an id, a number (#42) or a label; did you mean "
                   "'leaf'?");
    expect_refused({verb, kId, "#9"}, "'#9': no entry of the session has this name; give an id, a number (#42)");
  }
  expect_refused({"append", kId, "text", "--at=leef"}, "'leef': no entry of the session has this name");
}

TEST_F(CommandWriteTest, ForksToOtherAgentsNameThePossibleOnesAndTheMissingStore) {
  expect_refused({"fork", kId, "--to=gote"},
                 "cannot fork a session to gote, only to claude, codex, goat, omp, opal, opencode and pi; did you mean "
                 "'goat'?\n");
  expect_refused({"fork", kId, "--to=codex"}, "no store of codex is open; name its folder with --store codex=DIR\n");
  expect_refused({"fork", kId, "--to=goat"}, "no store of goat is open; name its folder with --store goat=DIR\n");
}

TEST_F(CommandWriteTest, AForkIntoAnEmptyStoreSaysNothingOfAMissingFolder) {
  for (const std::string agent : {"claude", "goat", "opal", "pi"}) {
    const std::string place = store.root() + "/empty-" + agent;
    fs::create_directories(place);
    EXPECT_EQ(run({"fork", kId, "--to", agent, "--store=" + agent + "=" + place}), kDone);
    EXPECT_EQ(err(), "") << agent;
  }
}

TEST_F(CommandWriteTest, AForkToAnotherAgentTakesTheWholePathIfItIsToldSo) {
  store.append(kFolder, kName,
               R"({"type":"compaction","id":"c3c3c3c3","parentId":"e2e2e2e2","timestamp":"2026-02-16T10:20:33.000Z",)"
               R"("summary":"In short","firstKeptEntryId":"e2e2e2e2","tokensBefore":9})"
               "\n");
  const std::string place = store.root() + "/goat";
  fs::create_directories(place);
  const auto forked = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"fork", kId, "--to=goat", "--json", "--store=goat=" + place};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(run(words), kDone) << err();
    return bytes_of(fs::path(place) / result()["session"] / "messages.jsonl");
  };
  EXPECT_THAT(forked({}), AllOf(HasSubstr("In short"), Not(HasSubstr("first words"))));
  EXPECT_THAT(forked({"--full"}), AllOf(HasSubstr("In short"), HasSubstr("first words")));
}

TEST_F(CommandWriteTest, AgentsThatNeverRanAreToBeStartedFirst) {
  const std::string nowhere = store.root() + "/nowhere";
  for (const std::string agent : {"claude", "opencode", "pi", "opal"}) {
    expect_refused({"fork", kId, "--to", agent, "--store=" + agent + "=" + nowhere},
                   "; start " + agent + " once, or name its folder with --store " + agent + "=DIR\n");
  }
  expect_refused({"new", store.root(), "-a", "opal", "--store=opal=" + nowhere}, "; start opal once, or name its");
  EXPECT_FALSE(fs::exists(nowhere));
}

TEST_F(CommandWriteTest, BranchWritesASummary) {
  EXPECT_EQ(run({"branch", kId, "#1", "tried X:\nfailed", "--json"}), kDone) << err();
  EXPECT_EQ(last()["type"], "branch_summary");
  EXPECT_EQ(last()["summary"], "tried X:\nfailed");
  EXPECT_EQ(last()["parentId"], "e1e1e1e1");
  EXPECT_EQ(result()["summary"], last()["id"]);
  EXPECT_EQ(result()["leaf"], last()["id"]);
}

TEST_F(CommandWriteTest, BranchAtAnOpenToolCallNeedsForce) {
  store.append(kFolder, kName,
               R"({"type":"message","id":"a3a3a3a3","parentId":"e2e2e2e2","timestamp":"2026-02-16T10:20:32.000Z",)"
               R"("message":{"role":"assistant","content":[{"type":"toolCall","id":"call1","name":"bash",)"
               R"("arguments":{}}],"provider":"p","model":"m"}})"
               "\n" +
                   TempStore::user("e4e4e4e4", "a3a3a3a3", "stop") + "\n");
  expect_refused({"branch", kId, "a3a3a3a3"}, "tool call");
  expect_refused({"fork", kId, "a3a3a3a3"}, "tool call");
  EXPECT_EQ(run({"branch", kId, "a3a3a3a3", "--force"}), kDone) << err();
  EXPECT_EQ(out(), "a3a3a3a3\n");
  EXPECT_EQ(run({"fork", kId, "a3a3a3a3", "--force"}), kDone) << err();
}

TEST_F(CommandWriteTest, LabelSetsAndClears) {
  EXPECT_EQ(run({"label", kId, "e1e1e1e1", "the good one"}), kDone) << err();
  EXPECT_THAT(out(), MatchesRegex(kIdLine));
  EXPECT_EQ(last()["type"], "label");
  EXPECT_EQ(last()["targetId"], "e1e1e1e1");
  EXPECT_EQ(last()["label"], "the good one");
  EXPECT_EQ(run({"text", kId, "the good one"}), kDone) << "the label names it";
  EXPECT_EQ(run({"label", kId, "the good one", "--json"}), kDone) << err();
  EXPECT_EQ(last()["targetId"], "e1e1e1e1");
  EXPECT_EQ(last()["label"], "absent");
  EXPECT_EQ(result()["id"], last()["id"]);
  expect_refused({"label", kId, "the good one", "x"}, "no entry of the session has this name");
}

TEST_F(CommandWriteTest, LabelTakesTheLeaf) {
  EXPECT_EQ(run({"label", kId, "leaf", "here"}), kDone) << err();
  EXPECT_EQ(last()["targetId"], "e2e2e2e2");
  write(TempStore::header(kId, store.root()) + "\n");
  expect_refused({"label", kId, "leaf", "here"}, "no entry");
}

TEST_F(CommandWriteTest, TitleChangesOnlyTheHeader) {
  const auto before = lines_of(log());
  EXPECT_EQ(run({"title", kId, " Kites \n and strings"}), kDone) << err();
  EXPECT_EQ(out(), "Kites and strings\n");
  auto after = lines_of(log());
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(Line(after[0])["title"], "Kites and strings");
  after[0] = before[0];
  EXPECT_EQ(after, before);
  EXPECT_EQ(run({"title", kId, "{}", "--json"}), kDone);
  EXPECT_EQ(result()["title"], "{}");
}

TEST_F(CommandWriteTest, ForkCopiesAllOrThePathToAnEntry) {
  const std::string source = bytes_of(log());
  EXPECT_EQ(run({"fork", kId}), kDone) << err();
  const auto space = out().find(' ');
  const std::string id = out().substr(0, space);
  const fs::path whole = out().substr(space + 1, out().size() - space - 2);
  ASSERT_TRUE(fs::exists(whole)) << out();
  const auto copied = lines_of(whole);
  ASSERT_THAT(copied, SizeIs(3));
  EXPECT_EQ(Line(copied[0])["id"], id);
  EXPECT_EQ(Line(copied[0])["parentSession"], kId);
  EXPECT_EQ(copied[2], lines_of(log())[2]);
  EXPECT_EQ(run({"fork", kId, "e1e1e1e1", "--json"}), kDone) << err();
  EXPECT_THAT(result()["path"], StartsWith("projects/"));
  const std::string made = result()["session"];
  EXPECT_EQ(run({"show", made, "--json"}), kDone) << err();
  EXPECT_EQ(result()["header.parentSession"], log().string());
  EXPECT_EQ(result()["counts"], R"({"user":1})");
  EXPECT_EQ(bytes_of(log()), source);
  expect_refused({"fork", kId, "ffff"}, "no entry of the session has this name");
}

TEST_F(CommandWriteTest, ForkTitlesDifferFromTheirSource) {
  const auto title_of_made = [this] {
    const std::string made = result()["session"];
    EXPECT_EQ(run({"show", made, "--json"}), kDone) << err();
    return result()["header.title"];
  };
  EXPECT_EQ(run({"fork", kId, "--json"}), kDone) << err();
  EXPECT_EQ(title_of_made(), "absent") << "no title stays none";
  EXPECT_EQ(run({"title", kId, "Kites"}), kDone) << err();
  EXPECT_EQ(run({"fork", kId, "--json"}), kDone) << err();
  const std::string made = result()["session"];
  EXPECT_EQ(title_of_made(), "Kites (fork)");
  EXPECT_EQ(run({"fork", made, "--json"}), kDone) << err();
  EXPECT_EQ(title_of_made(), "Kites (fork)");
  EXPECT_EQ(run({"fork", kId, "e1e1e1e1", "--json"}), kDone) << err();
  EXPECT_EQ(title_of_made(), "Kites (fork)");
  EXPECT_EQ(run({"fork", kId, "--title", " Bridles\n", "--json"}), kDone) << err();
  EXPECT_EQ(title_of_made(), "Bridles");
}

TEST_F(CommandWriteTest, NewCreatesASession) {
  const std::string cwd = fs::canonical(store.root()).string();
  EXPECT_EQ(run({"new", cwd, "--title", "Kites", "--model", "ant/hill", "--parent-session", "aaaa"}), kDone) << err();
  const fs::path path = out().substr(out().find(' ') + 1, out().size() - out().find(' ') - 2);
  const auto lines = lines_of(path);
  ASSERT_THAT(lines, SizeIs(2)) << out();
  const Line header(lines[0]);
  EXPECT_EQ(header["id"] + " " + path.string() + "\n", out());
  EXPECT_EQ(header["cwd"], cwd);
  EXPECT_EQ(header["title"], "Kites");
  EXPECT_EQ(header["parentSession"], kId);
  EXPECT_EQ(Line(lines[1])["model"], "ant/hill");
  expect_refused({"new", cwd, "--parent-session", "ffff"}, "ffff");
  expect_refused({"new", cwd, "--agent", "opal"}, "no store of opal is open; name its folder with --store opal=DIR\n");
  expect_refused({"new", cwd, "--agent", "codex"},
                 "cannot create a session of codex, only of goat, omp, opal and pi\n");
  expect_refused({"new", cwd, "--agent", "opl"}, "opal and pi; did you mean 'opal'?");
  expect_refused({"new", cwd, "--agent", "claude"}, "cannot create a session of claude, only of goat");
  expect_refused({"new", cwd, "--provider", "Elsewhere"}, "sessions of omp store no provider");
}

TEST_F(CommandWriteTest, NewDefaultsToTheCurrentFolder) {
  EXPECT_EQ(run({"new", "--json"}), kDone) << err();
  const std::string made = result()["session"];
  EXPECT_EQ(run({"show", made, "--json"}), kDone) << err();
  EXPECT_EQ(result()["header.cwd"], fs::current_path().string());
  EXPECT_EQ(run({"new", "some/where", "--json"}), kDone) << err();
  const std::string other = result()["session"];
  EXPECT_EQ(run({"show", other, "--json"}), kDone) << err();
  EXPECT_EQ(result()["header.cwd"], (fs::current_path() / "some/where").string());
}

TEST_F(CommandWriteTest, FileSizeLimitLeavesTheLogUnchanged) {
  const std::string before = bytes_of(log());
  // A coverage build writes its counts to another place, because the limit would truncate them.
  const std::string environment =
      "XDG_STATE_HOME='" + store.root() + "/state' GCOV_PREFIX='" + store.root() + "/counts' ";
  const std::string script = "ulimit -f 4; head -c 100000 /dev/zero | tr '\\0' x | " + environment + "'" +
                             arborfs::tests::kBinary + "' append --agent-dir='" + store.root() + "' " + kId + " 2>'" +
                             store.root() + "/said'";
  const int status = std::system(("bash -c \"" + script + "\"").c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kFailed) << status;
  EXPECT_THAT(bytes_of(store.root() + "/said"), HasSubstr("File too large"));
  EXPECT_EQ(bytes_of(log()), before);
}

/// At a terminal, with an editor that is a shell script with the path of the message in $1.
class CommandAppendEditorTest : public ::arborfs::testing::WritingTest {
 protected:
  CommandAppendEditorTest() {
    terminal.io.in_is_terminal = true;
    terminal.io.out_is_terminal = true;
  }
  void edit_with(const std::string& script) {
    const std::string path = store.root() + "/editor";
    std::ofstream(path) << "#!/bin/sh\necho \"$1\" > '" << store.root() << "/edited'\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    terminal.variables["EDITOR"] = path;
  }
  [[nodiscard]] std::string edited_file() const {
    const std::string path = ::arborfs::testing::bytes_of(store.root() + "/edited");
    return path.substr(0, path.find('\n'));
  }
};

TEST_F(CommandAppendEditorTest, SendsWhatWasTyped) {
  edit_with("{ printf '# a heading\\n\\ntyped\\n\\n'; cat \"$1\"; } > \"$1.new\"; mv \"$1.new\" \"$1\"");
  EXPECT_EQ(run({"append", kId}), kDone) << err();
  EXPECT_THAT(last()["message.content"], HasSubstr(R"("# a heading\n\ntyped")"));
  EXPECT_FALSE(std::filesystem::exists(edited_file()));
  terminal.variables["VISUAL"] = "false";
  expect_refused({"append", kId},
                 "the editor 'false' failed; set EDITOR to another one, or give the text: --text TEXT");
}

TEST_F(CommandAppendEditorTest, AnEmptyMessageSendsNothing) {
  for (const char* script : {"", ": > \"$1\"", "printf ' \\n\\n' >> \"$1\"", "rm \"$1\""}) {
    edit_with(script);
    expect_refused({"append", kId}, "the message is empty; nothing was appended");
    EXPECT_NE(edited_file(), "");
    EXPECT_FALSE(std::filesystem::exists(edited_file())) << script;
  }
}

TEST_F(CommandAppendEditorTest, WhatCannotBeSentIsKept) {
  edit_with("echo precious >> \"$1\"; exit 3");
  expect_refused({"append", kId}, "the text is kept in ");
  EXPECT_THAT(err(), HasSubstr(edited_file()));
  EXPECT_THAT(::arborfs::testing::bytes_of(edited_file()), HasSubstr("precious\n"));
  std::filesystem::remove(edited_file());
  edit_with("echo '{\"type\":}' > \"$1\"");
  expect_refused({"append", kId}, "the message is kept in ");
  EXPECT_THAT(err(), HasSubstr(edited_file()));
  std::filesystem::remove(edited_file());
}

TEST_F(CommandAppendEditorTest, WithoutAnEditorTheUsageIsExplained) {
  terminal.variables["TERM"] = "dumb";
  EXPECT_EQ(run({"append", kId}), kUsage);
  EXPECT_THAT(err(),
              HasSubstr("a message is needed: as an argument, with -f FILE, on standard input, or from $EDITOR"));
  edit_with("exit 0");
  terminal.io.out_is_terminal = false;
  EXPECT_EQ(run({"append", kId}), kUsage) << "the editor would write into what reads the output";
}

TEST_F(CommandAppendEditorTest, TextIsTheMessage) {
  EXPECT_EQ(run({"append", kId, "--text", "-v is an option"}), kDone) << err();
  EXPECT_THAT(lines_of(log()).back(), HasSubstr("-v is an option"));
  EXPECT_EQ(run({"append", "--text=more", kId}), kDone) << err();
  EXPECT_THAT(lines_of(log()).back(), HasSubstr("more"));
  EXPECT_EQ(run({"append", kId, "words", "--text", "more"}), kUsage);
  EXPECT_EQ(run({"append", kId, "-f", "/x", "--text", "more"}), kUsage);
}

}  // namespace
}  // namespace arborfs::cli
