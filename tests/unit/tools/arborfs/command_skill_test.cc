// arborfs skill: the page is a skill as agents take it, and arborfs has every command on it.

#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/json/document.h"
#include "tests/support/fake_terminal.h"
#include "tools/arborfs/command_line.h"
#include "tools/arborfs/run.h"

namespace arborfs::cli {
namespace {

std::string page() {
  testing::FakeTerminal terminal;
  EXPECT_EQ(terminal.run({"skill"}), kDone);
  return terminal.out.str();
}

/// The words of a command without redirections, as a shell splits them.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  const std::regex word("'([^']*)'|([^ ]+)");
  for (std::sregex_iterator at(command.begin(), command.end(), word), end; at != end; ++at) {
    words.push_back((*at)[1].matched ? (*at)[1] : (*at)[2]);
  }
  return words;
}

TEST(CommandSkill, HasTheFrontMatterThatAgentsRead) {
  std::smatch front;
  const std::string text = page();
  ASSERT_TRUE(std::regex_search(text, front,
                                std::regex("^---\nname: ([a-z0-9-]{1,64})\ndescription: ([^\n:]{1,1024})\n---\n")));
  EXPECT_EQ(front[1], "arborfs");
}

TEST(CommandSkill, NamesTenCommandsThatTheGrammarTakes) {
  std::istringstream lines(page());
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("    arborfs ")) {
      continue;
    }
    ++commands;
    std::vector<std::string> words = words_of(line.substr(0, line.find("  #")));
    std::vector<const char*> argv;
    for (const std::string& word : words) {
      argv.push_back(word.c_str());
    }
    testing::FakeTerminal terminal;
    const CommandLine read = read_command_line(static_cast<int>(argv.size()), argv.data(), terminal.io);
    EXPECT_NE(read.run, nullptr) << line << "\n" << terminal.err.str();
  }
  EXPECT_EQ(commands, 10);
}

TEST(CommandSkill, PrintsTheSamePageAsJson) {
  testing::FakeTerminal terminal;
  EXPECT_EQ(terminal.run({"skill", "--json"}), kDone);
  json::Document printed;
  ASSERT_TRUE(json::parse(terminal.out.str(), printed));
  EXPECT_EQ(json::text_member(printed, "text"), page());
}

}  // namespace
}  // namespace arborfs::cli
