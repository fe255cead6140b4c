// The tables "Census" of the formats' pages say what arborfs makes of each kind of record. tests/census has an input
// for each of their rows, and arborfs makes of it what the row says.
#include "tests/support/census.h"

#include <gtest/gtest.h>

#include <string>

namespace arborfs {
namespace {

using tests::CensusAgent;
using tests::CensusInput;
using tests::ReadLog;

std::string log_of(const CensusAgent& agent, const CensusInput& input) {
  std::string log = input.is_bare ? "" : agent.header;
  for (const std::string& record : input.log) {
    log += record;
  }
  return log;
}

void expect_outcome(const ReadLog& read, const CensusInput& input, const std::string& verdict) {
  const LogIndex& index = read.index();
  EXPECT_TRUE(index.damage().empty());
  const std::string left_out = tests::word_after(verdict, "not shown: ");
  const auto& counts = index.not_shown().by_type();
  EXPECT_EQ(counts, left_out.empty() ? RecordCounts::ByType() : (RecordCounts::ByType{{left_out, 1}}));
  if (verdict.starts_with("entry")) {
    ASSERT_EQ(index.size(), 1U);
    EXPECT_EQ(index.name(1), input.name.empty() ? tests::word_after(verdict, "entry ") : input.name);
  } else {
    EXPECT_EQ(index.size(), input.entries);
  }
  if (verdict == "header") {
    EXPECT_TRUE(index.header().valid) << index.header().problem;
  }
  const std::string text = read.text();
  for (const std::string& words : input.says) {
    EXPECT_NE(text.find(words), std::string::npos) << "no \"" << words << "\" in:\n" << text;
  }
  if (input.is_silent) {
    EXPECT_EQ(text, "\n");
  }
  EXPECT_EQ(text.find("{\""), std::string::npos) << "raw JSON:\n" << text;
}

TEST(Census, EveryRowHasAnInputOfWhichArborfsMakesWhatItSays) {
  for (const CensusAgent& agent : tests::census_agents()) {
    SCOPED_TRACE(agent.name);
    auto rows = tests::census_of(agent);
    EXPECT_FALSE(rows.empty());
    for (const CensusInput& input : tests::inputs_of(agent)) {
      SCOPED_TRACE(input.row);
      const auto row = rows.find(input.row);
      ASSERT_NE(row, rows.end()) << "no row, or two inputs";
      expect_outcome(ReadLog(agent.format(), log_of(agent, input)), input, row->second);
      rows.erase(row);
    }
    for (const auto& [row, verdict] : rows) {
      ADD_FAILURE() << "no input for " << row;
    }
  }
}

}  // namespace
}  // namespace arborfs
