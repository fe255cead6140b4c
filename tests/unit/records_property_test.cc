// K4 of the stores that people have: the words of each complete record are in a text, or the record is bookkeeping, or
// the count of what is not shown names its type; damage is only what is not JSON. Over random logs of every agent, made
// of the records of tests/census.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/census.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

using tests::CensusAgent;
using tests::CensusInput;
using tests::ReadLog;

constexpr int kLogs = 1000 / arborfs::testing::kSanitizedShare;
constexpr int kMostRecords = 16;

/// How the census spells the ids of records.
constexpr std::array<const char*, 6> kIds = {"msg_1", "a0000001", "u1", "0000000000000001", "g1", "ig"};
constexpr std::array<const char*, 4> kGarbage = {"not json at all\n", "torn {\n", "{\"type\":\"user\",\n", "<html>\n"};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// A log, and what must be found of it.
struct MadeLog {
  std::string bytes;
  std::vector<std::string> words;
  RecordCounts::ByType left_out;
  int garbage = 0;
};

class Maker {
 public:
  Maker(const CensusAgent& agent, std::map<std::string, std::string> left_out, unsigned seed)
      : agent_(agent), inputs_(tests::inputs_of(agent)), left_out_(std::move(left_out)), random_(seed) {
    // The older omp drops such a record, the newer one lists it.
    std::erase_if(inputs_,
                  [](const CensusInput& input) { return input.is_bare || input.row.starts_with("session, "); });
  }

  MadeLog make() {
    MadeLog made;
    made.bytes = agent_.header;
    for (int left = 1 + pick(kMostRecords); left > 0; --left) {
      if (pick(8) == 0) {
        made.bytes += kGarbage.at(static_cast<std::size_t>(pick(kGarbage.size())));
        ++made.garbage;
      } else {
        add(inputs_[static_cast<std::size_t>(pick(inputs_.size()))], made);
      }
    }
    return made;
  }

 private:
  int pick(std::size_t count) { return static_cast<int>(random_() % count); }

  /// The records with an id and words of their own.
  void add(const CensusInput& input, MadeLog& made) {
    ++serial_;
    const std::string number = std::to_string(100000 + serial_);
    std::vector<std::string> words = input.says;
    for (std::string record : input.log) {
      for (const char* id : kIds) {
        replace_all(record, '"' + std::string(id) + '"', "\"aa" + number + '"');
      }
      for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string own = input.says[i] + "-" + number;
        const std::string before = record;
        replace_all(record, '"' + input.says[i] + '"', '"' + own + '"');
        words[i] = record == before ? words[i] : own;
      }
      made.bytes += record;
    }
    made.words.insert(made.words.end(), words.begin(), words.end());
    if (const auto found = left_out_.find(input.row); found != left_out_.end()) {
      ++made.left_out[found->second];
    }
  }

  const CensusAgent& agent_;
  std::vector<CensusInput> inputs_;
  const std::map<std::string, std::string> left_out_;  // the types of records that are not shown, by row
  std::mt19937 random_;
  int serial_ = 0;
};

std::map<std::string, std::string> left_out_rows(const CensusAgent& agent) {
  std::map<std::string, std::string> rows;
  for (const auto& [row, verdict] : tests::census_of(agent)) {
    if (const std::string type = tests::word_after(verdict, "not shown: "); !type.empty()) {
      rows.emplace(row, type);
    }
  }
  return rows;
}

void expect_all_of(const MadeLog& made, const ReadLog& read) {
  const std::string text = read.text();
  for (const std::string& words : made.words) {
    ASSERT_NE(text.find(words), std::string::npos) << words << "\nin the log\n" << made.bytes;
  }
  ASSERT_EQ(read.index().not_shown().by_type(), made.left_out) << made.bytes;
  const auto damage = read.index().damage();
  ASSERT_EQ(damage.empty(), made.garbage == 0) << made.bytes;
  for (const Damage& run : damage) {
    const auto bytes = read.log().read(run.offset, run.length);
    json::Document value;
    ASSERT_FALSE(json::parse(*bytes, value)) << *bytes;
  }
}

TEST(RecordsProperty, WordsOfEachRecordAreShownOrItsTypeIsCounted) {
  for (const CensusAgent& agent : tests::census_agents()) {
    SCOPED_TRACE(agent.name);
    Maker maker(agent, left_out_rows(agent), 17);
    for (int i = 0; i < kLogs && !::testing::Test::HasFatalFailure(); ++i) {
      const MadeLog made = maker.make();
      expect_all_of(made, ReadLog(agent.format(), made.bytes));
    }
  }
}

}  // namespace
}  // namespace arborfs
