// The spelling of command lines, and the messages for wrong ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/json/document.h"
#include "tests/unit/command_write_support.h"
#include "tools/arborfs/command_line.h"

namespace arborfs::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// With a store of one session.
class CommandUsageTest : public testing::WritingTest {
 protected:
  CommandUsageTest() { store.write(kFolder, kName, log_of(kId, "/home/dev/src/kite")); }

  static std::string log_of(const std::string& id, const std::string& cwd) {
    return testing::TempStore::header(id, cwd) + "\n" + testing::TempStore::user("e1e1e1e1", "", "first words") + "\n";
  }
  void add(const std::string& folder, const std::string& id, const std::string& cwd) const {
    store.write(folder, "2026-02-16T10-20-30-000Z_" + id, log_of(id, cwd));
  }
  int run(const std::vector<std::string>& words) { return terminal.run(words); }
  int run_here(std::vector<std::string> words) {
    words.push_back("--agent-dir=" + store.root());
    return run(words);
  }
  CommandLine read(const std::vector<std::string>& words) {
    std::vector<const char*> argv{"arborfs"};
    for (const auto& word : words) {
      argv.push_back(word.c_str());
    }
    return read_command_line(static_cast<int>(argv.size()), argv.data(), terminal.io);
  }
};

TEST_F(CommandUsageTest, HelpTakesAVerb) {
  run({"--help"});
  const std::string of_all = out();
  run({"ls", "--help"});
  const std::string of_ls = out();
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"help", "ls"}, {"--help", "ls"}, {"help", "--json", "ls"}}) {
    EXPECT_EQ(run(words), kDone);
    EXPECT_EQ(out(), of_ls);
  }
  for (const auto& words : std::vector<std::vector<std::string>>{{"help"}, {"help", "help"}, {"-h"}}) {
    EXPECT_EQ(run(words), kDone);
    EXPECT_EQ(out(), of_all);
  }
  EXPECT_EQ(run({"help", "lss"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("unknown verb 'lss'; did you mean 'ls'?"));
}

TEST_F(CommandUsageTest, HelpFitsEightyColumns) {
  for (const auto& of : all_options()) {
    EXPECT_EQ(run({"help", of.verb.empty() ? "help" : of.verb}), kDone);
    std::istringstream lines(out());
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << line;
    }
    EXPECT_THAT(out(), HasSubstr("an id, a\nunique prefix")) << "a line of the footer was wrapped";
  }
}

TEST_F(CommandUsageTest, OptionsMayPrecedeTheVerb) {
  const std::string here = "--agent-dir=" + store.root();
  for (const auto& words : std::vector<std::vector<std::string>>{{here, "-q", "ls"},
                                                                 {"--agent-dir", store.root(), "ls", "-q"},
                                                                 {"-q", "-n", "1", here, "ls"},
                                                                 {"-n1", "-q", "ls", here}}) {
    EXPECT_EQ(run(words), kDone) << err();
    EXPECT_EQ(out(), std::string(kId) + "\n");
  }
  EXPECT_EQ(run({"--json", here, "show", "latest"}), kDone);
  EXPECT_EQ(result()["header.id"], kId);
  EXPECT_EQ(read({"-f", "ls", "append", "latest"}).file, "ls");
  EXPECT_EQ(run({"--limit", "ls"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("a verb is missing"));
}

TEST_F(CommandUsageTest, MistypedWordsGetSuggestions) {
  const std::map<std::string, std::vector<std::string>> lines{
      {"unknown verb 'shwo'; did you mean 'show'?\n", {"shwo", "latest"}},
      {"unknown verb 'foo'\n", {"foo"}},
      {"unknown verb 'shoow'; did you mean 'show'?\n", {"--agent-dir=/x", "shoow"}},
      {"'umount' has no option '--agent-dir'\n", {"--agent-dir", "/x", "umount", "/y"}},
      {"'umount' has no option '--store'\n", {"--store=omp=/x", "umount", "/y"}},
      {"unknown option '--jsn'; did you mean '--json'?\n", {"show", "--jsn"}},
      {"unknown option '-json'; did you mean '--json'?\n", {"ls", "-json"}},
      {"unknown option '--agentdir'; did you mean '--agent-dir'?\n", {"--agentdir=/x", "ls"}},
      {"unknown option '--vresion'; did you mean '--version'?\n", {"--vresion"}},
      {"unknown option '-x'\n", {"ls", "-x"}},
      {"unknown option '--limit'\n", {"show", "latest", "--limit", "3"}}};
  for (const auto& [said, words] : lines) {
    EXPECT_EQ(run(words), kUsage);
    EXPECT_THAT(err(), StartsWith("arborfs: " + said));
  }
}

TEST_F(CommandUsageTest, TwoDashesEndTheOptionsAnywhere) {
  const std::string here = "--agent-dir=" + store.root();
  for (const auto& words :
       std::vector<std::vector<std::string>>{{here, "search", "first", "--", "-nowhere"},
                                             {"search", here, "--", "first", "-nowhere"},
                                             {"search", "first", here, "-n", "5", "--", "-nowhere"}}) {
    EXPECT_EQ(run(words), kDone) << err();
    EXPECT_THAT(out(), HasSubstr("first words"));
  }
  EXPECT_EQ(run({here, "search", "first", "--", "-words"}), kFailed) << out();
  EXPECT_EQ(err(), "");
  EXPECT_EQ(read({"search", "a", "-n", "5", "--", "-b", "--", "-c"}).query_text(), "a -b -- -c");
  EXPECT_EQ(read({"ls", "-qcn", "5", "--"}).limit, 5U);
  EXPECT_EQ(read({"text", "id", "--code", "--", "-1"}).entry, "-1");
  EXPECT_EQ(read({"rm", "a", "--", "-b"}).sessions, (std::vector<std::string>{"a", "-b"}));
}

TEST_F(CommandUsageTest, SearchSaysHowToExcludeAWord) {
  EXPECT_EQ(run({"search", "test", "-goat"}), kUsage);
  EXPECT_THAT(err(),
              StartsWith("arborfs: unknown option '-goat'; to exclude a word, write -- before the query: arborfs "
                         "search -- WORD -goat\n"));
}

TEST_F(CommandUsageTest, StrayArgumentsAreNamedInOrder) {
  EXPECT_EQ(run({"show", "a", "b", "--json=false", "c"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("unexpected arguments 'b' 'c'"));
  EXPECT_EQ(run({"ls", "show"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("unexpected argument 'show'\n"));
}

TEST_F(CommandUsageTest, EmptyArgumentsAreRefused) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"show", ""},
                                                                 {"rm", ""},
                                                                 {"doctor", ""},
                                                                 {"branch", "latest", ""},
                                                                 {"fork", "latest", ""},
                                                                 {"text", "latest", ""},
                                                                 {"append", "latest", "words", "--at", ""},
                                                                 {"ls", "-p", ""},
                                                                 {"ls", "--agent-dir", ""},
                                                                 {"umount", ""},
                                                                 {"restore", ""}}) {
    EXPECT_EQ(run(words), kUsage) << words[0];
    EXPECT_THAT(err(), HasSubstr("is needed, but the argument is empty")) << words[0];
  }
}

TEST_F(CommandUsageTest, ErrorsAreJsonWithTheJsonOption) {
  const auto error = [this](const std::vector<std::string>& words, int status) {
    EXPECT_EQ(run(words), status);
    EXPECT_THAT(out(), IsEmpty());
    EXPECT_THAT(err(), EndsWith("}\n"));
    json::Document document;
    EXPECT_TRUE(json::parse(err(), document)) << err();
    const auto* inner = json::member(document, "error");
    return std::pair(std::string(*json::string_member(*inner, "code")),
                     std::string(*json::string_member(*inner, "message")));
  };
  const std::string here = "--agent-dir=" + store.root();
  EXPECT_EQ(error({"show", "ffff", "--json", here}, kFailed),
            std::pair(std::string("ENOENT"),
                      std::string("no session has an id that starts with 'ffff'; 'arborfs ls' lists the sessions")));
  EXPECT_EQ(error({"--json", "shwo"}, kUsage),
            std::pair(std::string("EINVAL"), std::string("unknown verb 'shwo'; did you mean 'show'?")));
  EXPECT_EQ(error({"append", "latest", "a\xff", "--json", here}, kFailed).first, "EILSEQ");
  EXPECT_EQ(error({"mount", "-o", "nosuchoption", "--json", "/nowhere"}, kUsage).first, "EINVAL");
  EXPECT_EQ(run({"show", "--", "--json"}), kFailed);
  EXPECT_THAT(err(), StartsWith("arborfs: "));
}

TEST_F(CommandUsageTest, AmbiguousIdListsItsCandidates) {
  for (char letter = 'a'; letter < 'm'; ++letter) {
    const std::string id = std::string("aaaa00001111333") + letter;
    add("-other", id, "/home/dev/other");
  }
  EXPECT_EQ(run_here({"show", "aaaa00001111"}), kFailed);
  EXPECT_THAT(err(), StartsWith("arborfs: 13 sessions have an id with this prefix; give more of the id:\n"));
  EXPECT_THAT(err(), EndsWith("  and 3 more\n"));
  EXPECT_THAT(err(), HasSubstr("  aaaa00001111333"));
  EXPECT_THAT(err(), HasSubstr("  other"));
  std::filesystem::remove_all(store.sessions() / "-other");
  add("-other", "aaaa3", "/home/dev/other");
  for (const auto& words : std::vector<std::vector<std::string>>{{"show", "aaaa"}, {"doctor", "aaaa"}}) {
    EXPECT_EQ(run_here(words), kFailed);
    EXPECT_THAT(err(), ContainsRegex("  " + std::string(kId) + "  20[-0-9]+ [0-9:]+  src-kite  first words\n"))
        << "without a title";
  }
}

TEST_F(CommandUsageTest, LsTakesPartOfAProjectName) {
  add("-other", "bbbb", "/home/dev/other");
  add("-more", "cccc", "/home/dev/other/more");
  const auto ids = [this](const std::string& project) {
    EXPECT_EQ(run_here({"ls", "-q", "-p", project}), kDone) << err();
    std::istringstream lines(out());
    return std::set<std::string>(std::istream_iterator<std::string>(lines), {});
  };
  EXPECT_EQ(ids("kit"), std::set<std::string>{kId});
  EXPECT_EQ(ids("the"), (std::set<std::string>{"bbbb", "cccc"}));
  EXPECT_EQ(ids("other"), std::set<std::string>{"bbbb"}) << "a whole name means that project alone";
  EXPECT_EQ(ids("/home/dev/other/"), std::set<std::string>{"bbbb"});
}

TEST_F(CommandUsageTest, LsResolvesRelativeProjectPaths) {
  const auto folder = std::filesystem::path(store.root()) / "work";
  std::filesystem::create_directories(folder / "sub");
  store.write(kFolder, kName, log_of(kId, folder.string()));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  EXPECT_EQ(run_here({"ls", "-q", "-p", "."}), kDone) << err();
  EXPECT_EQ(out(), std::string(kId) + "\n");
  EXPECT_EQ(run_here({"ls", "-q", "-p", "../work"}), kDone) << err();
  EXPECT_EQ(run_here({"ls", "-q", "-p", "sub/.."}), kDone) << err();
  std::filesystem::current_path(folder / "sub");
  EXPECT_EQ(run_here({"ls", "-q", "-p", "."}), kDone) << err();
  EXPECT_EQ(out(), std::string(kId) + "\n") << "of the folder above";
  EXPECT_EQ(run_here({"search", "agent:omp", "--json", "-p", "../../work/"}), kDone) << err();
  EXPECT_EQ(run_here({"search", "agent:omp", "--json", "-p", "."}), kDone) << err();
  std::filesystem::current_path(before);
}

TEST_F(CommandUsageTest, ADeletedCurrentFolderIsNoProject) {
  const auto folder = std::filesystem::path(store.root()) / "gone";
  std::filesystem::create_directories(folder);
  store.write(kFolder, kName, log_of(kId, "/work/my.app"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  std::filesystem::remove(folder);
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"ls", "-q"}, {"prune", "--keep-count=0", "--yes"}, {"search", "hello"}, {"stats"}, {"history"}}) {
    for (const char* const project : {".", "./", "../gone"}) {
      auto words = verb;
      words.insert(words.end(), {"-p", project});
      EXPECT_NE(run_here(words), kDone) << verb.front() << " " << project << ": " << out();
      EXPECT_THAT(out(), IsEmpty()) << verb.front() << " " << project;
      EXPECT_THAT(err(), HasSubstr("the current folder does not exist any more")) << verb.front() << " " << project;
    }
  }
  EXPECT_NE(run_here({"resume", ".", "--print"}), kDone) << out();
  EXPECT_THAT(err(), HasSubstr("the current folder does not exist any more"));
  std::filesystem::current_path(before);
  EXPECT_EQ(run_here({"ls", "-q"}), kDone);
  EXPECT_EQ(out(), std::string(kId) + "\n") << "nothing was removed";
}

}  // namespace
}  // namespace arborfs::cli
