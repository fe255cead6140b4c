// One vocabulary for all agents: the roles of the entries that the census of each format has (CONTRACT.md 2.2).
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/entry/names.h"
#include "core/entry/tree.h"
#include "tests/support/census.h"

namespace arborfs {
namespace {

using tests::CensusAgent;
using tests::CensusInput;
using tests::ReadLog;

/// The agents' own words whose role is another word. Every other word is its own role.
const std::map<std::string, std::string, std::less<>> kRoles = {
    {"toolResult", "tool"},
    {"tool_result", "tool"},
    {"function_call_output", "tool"},
    {"custom_tool_call_output", "tool"},
    {"local_shell_call_output", "tool"},
    {"mcp_tool_call_output", "tool"},
    {"tool_search_output", "tool"},
    {"reasoning", "assistant"},
    {"tool_call", "assistant"},
    {"function_call", "assistant"},
    {"custom_tool_call", "assistant"},
    {"local_shell_call", "assistant"},
    {"tool_search_call", "assistant"},
    {"web_search_call", "assistant"},
    {"image_generation_call", "assistant"},
    {"compaction", "summary"},
    {"branch_summary", "summary"},
    {"compactionSummary", "summary"},
    {"branchSummary", "summary"},
    {"developer", "system"},
    {"harness", "system"},
    {"meta", "system"},
};

std::string role_of(std::string_view word) {
  const auto known = kRoles.find(word);
  return known == kRoles.end() ? std::string(word) : known->second;
}

std::string log_of(const CensusAgent& agent, const CensusInput& input) {
  std::string log = input.is_bare ? "" : agent.header;
  for (const std::string& record : input.log) {
    log += record;
  }
  return log;
}

/// Calls `check` with the index of each input of each census.
template <class Check>
void for_each_index(Check check) {
  for (const CensusAgent& agent : tests::census_agents()) {
    for (const CensusInput& input : tests::inputs_of(agent)) {
      SCOPED_TRACE(agent.name + ": " + input.row);
      const ReadLog read(agent.format(), log_of(agent, input));
      check(read.index());
    }
  }
}

TEST(Roles, AreOfOneVocabularyForAllAgents) {
  std::set<std::string> met;
  for_each_index([&](const LogIndex& index) {
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      EXPECT_EQ(index.role(ordinal), role_of(index.name(ordinal)));
      met.emplace(index.role(ordinal));
    }
  });
  for (const char* const role : {"user", "assistant", "tool", "summary", "system"}) {
    EXPECT_TRUE(met.contains(role)) << role;
  }
}

TEST(Roles, NamesWithTheAgentsOwnWordGoOnResolving) {
  for_each_index([](const LogIndex& index) {
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      const std::string listed = names::entry_stem(index, ordinal);
      const std::string former =
          names::padded(ordinal) + "-" + names::encode(index.name(ordinal)) +
          listed.substr(names::padded(ordinal).size() + 1 + names::encode(index.role(ordinal)).size());
      EXPECT_EQ(resolve_name(index, listed), ordinal) << listed;
      EXPECT_EQ(resolve_name(index, former), ordinal) << former;
    }
  });
}

}  // namespace
}  // namespace arborfs
