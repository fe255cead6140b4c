// tests/FAILURES.md says which tests cover each field failure (F1 to F30) and each threat (S1 to S21). It must name
// only tests that exist, and every test that carries a number.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/support/paths.h"

namespace {

namespace fs = std::filesystem;

const fs::path kTests = fs::path(arborfs::tests::kSourceDir) / "tests";

using Names = std::set<std::string>;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Calls `take` with each match of `what` in `text`.
template <class Take>
void each_match(const std::string& text, const std::regex& what, Take take) {
  for (auto at = std::sregex_iterator(text.begin(), text.end(), what); at != std::sregex_iterator(); ++at) {
    take(*at);
  }
}

/// mount.<module>.<case> for every case, without variants.
void add_mount_cases(Names& into) {
  static const std::regex kCase(R"(\ndef test_(\w+)\(case)");
  for (const auto& entry : fs::directory_iterator(kTests / "mount")) {
    const std::string module = entry.path().stem().string();
    if (module.starts_with("cases_") && entry.path().extension() == ".py") {
      each_match(text_of(entry.path()), kCase,
                 [&](const auto& found) { into.insert("mount." + module.substr(6) + "." + found[1].str()); });
    }
  }
}

/// <folder> <suite>.<test> for every GoogleTest test.
void add_unit_tests(Names& into) {
  static const std::regex kTest(R"(\nTEST(?:_[FP])?\((\w+),\s*(\w+)\))");
  for (const char* folder : {"unit", "conformance", "scale"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kTests / folder)) {
      if (entry.path().extension() == ".cc") {
        each_match(text_of(entry.path()), kTest, [&](const auto& found) {
          into.insert(std::string(folder) + " " + found[1].str() + "." + found[2].str());
        });
      }
    }
  }
}

Names all_tests() {
  Names all;
  add_mount_cases(all);
  add_unit_tests(all);
  return all;
}

/// The numbers at the beginning of a test's name: F3 and F25 for WriterTest.F3F25..., S4 for mount.security.s4_...
Names numbers_of(const std::string& test) {
  static const std::regex kNumbers(R"(^((?:[FS][0-9]+)+)[A-Z]|^((?:[fs][0-9]+_)+))");
  static const std::regex kNumber(R"([FSfs][0-9]+)");
  const std::string name = test.substr(test.rfind('.') + 1);
  Names numbers;
  each_match(name, kNumbers, [&](const auto& found) {
    each_match(found[0].str(), kNumber, [&](const auto& number) {
      std::string spelled = number[0].str();
      spelled[0] = static_cast<char>(std::toupper(spelled[0]));
      numbers.insert(spelled);
    });
  });
  return numbers;
}

/// The tests in the table, by number.
std::map<std::string, Names> table() {
  static const std::regex kRow(R"(\n\| ([FS][0-9]+) \| ([^|\n]+) \| ([^|\n]+) \|)");
  static const std::regex kName(R"(`([^`]+)`)");
  std::map<std::string, Names> rows;
  each_match(text_of(kTests / "FAILURES.md"), kRow, [&](const std::smatch& row) {
    EXPECT_FALSE(rows.contains(row[1])) << row[1] << " has two rows";
    Names& named = rows[row[1]];
    each_match(row[3].str(), kName, [&](const auto& name) { named.insert(name[1].str()); });
  });
  return rows;
}

Names all_numbers() {
  constexpr int kFailures = 30;
  constexpr int kThreats = 21;
  Names all;
  for (int i = 1; i <= kFailures; ++i) {
    all.insert("F" + std::to_string(i));
  }
  for (int i = 1; i <= kThreats; ++i) {
    all.insert("S" + std::to_string(i));
  }
  return all;
}

TEST(FailuresTable, EachNumberHasATestThatCarriesIt) {
  const auto rows = table();
  for (const auto& number : all_numbers()) {
    ASSERT_TRUE(rows.contains(number)) << number << " has no row";
    const Names& named = rows.at(number);
    EXPECT_TRUE(
        std::any_of(named.begin(), named.end(), [&](const auto& name) { return numbers_of(name).contains(number); }))
        << number << " has no test that carries it in its name";
  }
  EXPECT_EQ(rows.size(), all_numbers().size()) << "a row with a number that there is not";
}

TEST(FailuresTable, NamesOnlyExistingTests) {
  const Names tests = all_tests();
  EXPECT_GT(tests.size(), 500U);
  Names named;
  static const std::regex kName(R"(`((?:mount\.\w|unit |conformance |scale )[^`]+)`)");
  each_match(text_of(kTests / "FAILURES.md"), kName, [&](const auto& name) { named.insert(name[1].str()); });
  for (const auto& [number, tests_of_row] : table()) {
    named.insert(tests_of_row.begin(), tests_of_row.end());
  }
  for (const auto& name : named) {
    EXPECT_TRUE(tests.contains(name)) << "FAILURES.md names " << name << ", which is no test";
  }
}

TEST(FailuresTable, NamesEveryTestThatCarriesANumber) {
  const auto rows = table();
  for (const auto& test : all_tests()) {
    for (const auto& number : numbers_of(test)) {
      EXPECT_TRUE(rows.contains(number) && rows.at(number).contains(test))
          << test << " is missing in the row " << number;
    }
  }
}

}  // namespace
