// README's table of what works with which agent says what the formats say.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/store/format.h"
#include "tests/support/census.h"
#include "tests/support/paths.h"

namespace arborfs {
namespace {

/// The cells of a row of a table, without white space around them.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
  }
  return cells;
}

/// The rows below the heading with the agents' names, by their first cell; the heading under "".
std::map<std::string, std::vector<std::string>> table() {
  std::map<std::string, std::vector<std::string>> rows;
  std::ifstream readme(std::string(tests::kSourceDir) + "/README.md");
  for (std::string line; std::getline(readme, line);) {
    const bool is_heading = line.starts_with("| | Claude Code |");
    if (!is_heading && (rows.empty() || !line.starts_with("|"))) {
      if (!rows.empty()) {
        break;
      }
      continue;
    }
    auto cells = cells_of(line);
    const std::string name = cells.at(0);
    cells.erase(cells.begin());
    rows.emplace(name, std::move(cells));
  }
  return rows;
}

TEST(ReadmeTable, SaysWhatEachFormatTakes) {
  const std::map<std::string, std::string> agents = {
      {"Claude Code", "claude"}, {"Codex", "codex"}, {"OpenCode", "opencode"}, {"omp", "omp"}, {"pi", "pi"},
      {"Opal", "opal"},          {"goat", "goat"}};
  const std::map<std::string, std::string> verbs = {
      {"`append`", "append"}, {"`branch`", "branch"}, {"`new`", "new"}, {"`archive`", "archived"}, {"`pin`", "pinned"}};
  const auto rows = table();
  const auto& heading = rows.at("");
  ASSERT_EQ(heading.size(), agents.size());
  for (std::size_t column = 0; column < heading.size(); ++column) {
    const std::string& agent = agents.at(heading[column]);
    SCOPED_TRACE(agent);
    for (const tests::CensusAgent& known : tests::census_agents()) {
      if (known.name != agent) {
        continue;
      }
      const Format& format = known.format();
      for (const auto& [row, verb] : verbs) {
        EXPECT_EQ(!rows.at(row).at(column).empty(), format.takes(verb)) << row;
      }
      EXPECT_EQ(!rows.at("`resume`").at(column).empty(), format.resume != nullptr);
      EXPECT_TRUE(format.takes("title") && format.takes("remove"));
    }
  }
}

}  // namespace
}  // namespace arborfs
