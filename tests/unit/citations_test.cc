// Comments cite pages by number: CONTRACT.md 6.4, omp/FORMAT.md E2 to E4, FAILURES.md F4, S3. Each citation leads to a
// heading, or to a row of a table, of a page in this repository.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = arborfs::tests::kSourceDir;
constexpr const char* kThisFile = "tests/unit/citations_test.cc";  // contains the forbidden words

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_prose_or_code(const std::string& path) {
  static const std::set<std::string> kEndings = {".cc", ".h", ".py", ".md", ".in", ".txt", ".sh", ".1", ".5"};
  static const std::regex kData("tests/(corpus|newest|pi|golden)/.*/.*");
  const std::string ending = fs::path(path).extension().string();
  return (kEndings.count(ending) == 1 || (ending.empty() && path.starts_with("tools/"))) &&
         !std::regex_match(path, kData);
}

/// Relative to the root.
std::vector<std::string> files_to_read() {
  std::vector<std::string> found;
  const auto add = [&](const fs::path& path) {
    std::string name = fs::relative(path, kRoot).string();
    if (is_prose_or_code(name) && name != kThisFile) {
      found.push_back(std::move(name));
    }
  };
  for (const char* top : {"core", "fs", "tools", "tests", "man", "docs", "packaging"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.is_regular_file()) {
        add(entry.path());
      }
    }
  }
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    if (entry.is_regular_file()) {
      add(entry.path());
    }
  }
  return found;
}

/// The text with one space for every line break inside a paragraph or comment and its comment marker.
std::string in_one_line(const std::string& text) {
  std::string joined;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos) {
      joined += '\n';
      continue;
    }
    while (at < line.size() && (line[at] == '/' || line[at] == '#' || line[at] == ' ')) {
      ++at;
    }
    joined.append(line, at);
    joined += ' ';
  }
  return joined;
}

struct Citation {
  std::string page;  // relative to the root
  std::string number;
};

/// The path of the page that is cited as `name`.
std::string place_of(const std::string& name) {
  static const std::map<std::string, std::string> kPages = {{"CONTRACT.md", "docs/CONTRACT.md"},
                                                            {"FAILURES.md", "tests/FAILURES.md"}};
  const auto page = kPages.find(name);
  return page == kPages.end() ? "core/formats/" + name : page->second;
}

/// The start of the last name before `end`, and of the folder before it.
std::size_t start_of_page(const std::string& text, std::size_t end) {
  const auto start_of_word = [&](std::size_t at) {
    while (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_')) {
      --at;
    }
    return at;
  };
  const std::size_t name = start_of_word(end);
  const std::size_t folder = name > 0 && text[name - 1] == '/' ? start_of_word(name - 1) : name;
  return folder + 1 < name ? folder : name;
}

/// A citation of a whole page has the number "".
std::vector<Citation> citations_in(const std::string& text) {
  static const std::string kNumber = R"((?:[A-Z]\d+|\d+\.\d+|\d+|[A-Z](?![\w'])(?! [a-z])))";
  static const std::regex kCitation(R"((\w+/FORMAT\.md|\bCONTRACT\.md|\bFAILURES\.md)[`)]?((?: )" + kNumber +
                                    "(?:(?:,|,? and| to) " + kNumber + ")*)?)");
  static const std::regex kOne(kNumber);
  std::vector<Citation> found;
  if (text.find(".md") == std::string::npos) {
    return found;
  }
  const std::string joined = in_one_line(text);
  for (std::size_t at = joined.find(".md"); at != std::string::npos; at = joined.find(".md", at + 1)) {
    const std::size_t word = start_of_page(joined, at);  // searching only where a page may be named takes a tenth
    using namespace std::regex_constants;                // NOLINT(google-build-using-namespace): its flags alone
    const auto flags = word == 0 ? match_continuous : match_continuous | match_prev_avail;
    std::smatch cited;
    if (!std::regex_search(joined.cbegin() + static_cast<std::ptrdiff_t>(word), joined.cend(), cited, kCitation,
                           flags)) {
      continue;
    }
    const std::string page = place_of(cited[1]);
    const std::string numbers = cited[2];
    found.push_back({page, ""});
    for (auto one = std::sregex_iterator(numbers.begin(), numbers.end(), kOne); one != std::sregex_iterator(); ++one) {
      found.push_back({page, one->str()});
    }
  }
  return found;
}

/// The numbers of a page's headings and of the rows of its tables; nullopt if there is no such page.
std::optional<std::vector<std::string>> numbers_of(const std::string& page) {
  static const std::regex kNumber(R"(^(?:#+ ([A-Z]\d*|\d+(?:\.\d+)?) |\| ([A-Z]\d+|\d+\.\d+) \|))");
  if (!fs::is_regular_file(kRoot / page)) {
    return std::nullopt;
  }
  std::vector<std::string> numbers;
  std::ifstream in(kRoot / page);
  for (std::string line; std::getline(in, line);) {
    if (std::smatch match; std::regex_search(line, match, kNumber)) {
      numbers.push_back(match[1].matched ? match[1] : match[2]);
    }
  }
  return numbers;
}

TEST(Citations, ResolveToOneNumberOfTheCitedPage) {
  std::map<std::string, std::optional<std::vector<std::string>>> pages;
  std::size_t count = 0;
  for (const auto& file : files_to_read()) {
    for (const auto& citation : citations_in(text_of(kRoot / file))) {
      auto page = pages.find(citation.page);
      if (page == pages.end()) {
        page = pages.emplace(citation.page, numbers_of(citation.page)).first;
      }
      if (!page->second) {
        ADD_FAILURE() << file << " cites " << citation.page << ", which does not exist";
        continue;
      }
      const auto& numbers = *page->second;
      EXPECT_TRUE(citation.number.empty() || std::count(numbers.begin(), numbers.end(), citation.number) == 1)
          << file << " cites " << citation.page << ' ' << citation.number << ", which that page does not have once";
      count += citation.number.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(count, 300U) << "citations are no longer recognised";
}

TEST(Citations, NumbersAreRecognised) {
  const auto numbers = [](const std::string& text) {
    std::string all;
    for (const auto& citation : citations_in(text)) {
      all += citation.number.empty() ? citation.page + ':' : citation.number + ' ';
    }
    return all;
  };
  const std::string omp = "core/formats/omp/FORMAT.md:";
  EXPECT_EQ(numbers("// as it is (omp/FORMAT.md E2 to E10,\n  /// A12). 18 only"), omp + "E2 E10 A12 ");
  EXPECT_EQ(numbers("# (omp/FORMAT.md\n# D), checked"), omp + "D ");
  EXPECT_EQ(numbers("[omp/FORMAT.md](../omp/FORMAT.md) G6; "), omp + omp + "G6 ");
  EXPECT_EQ(numbers("CONTRACT.md 4 and 6.4; FAILURES.md S3. A test"), "docs/CONTRACT.md:4 6.4 tests/FAILURES.md:S3 ");
  EXPECT_EQ(numbers("see FAILURES.md. A test, or FAILURES.md A test"), "tests/FAILURES.md:tests/FAILURES.md:");
}

// Working pages that are not part of the project must not be cited.
TEST(Citations, WorkingPagesAreNotCited) {
  static const std::vector<const char*> kWords = {"FACTS", "FORMATS", "DESIGN", "FIELD-FAILURES",
                                                  "PERF",  "HOUSE",   "STYLE"};
  static const std::regex kElsewhere(
      R"((^|[^\w-])(FACTS|FACTS-NEWEST|FORMATS|FORMATS-ADDITIONS|DESIGN|FIELD-FAILURES|PERF|HOUSE|STYLE)(?![\w-]))");
  for (const auto& file : files_to_read()) {
    std::ifstream in(kRoot / file);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      const bool may_match =
          std::any_of(kWords.begin(), kWords.end(), [&](const char* word) { return line.find(word) < line.size(); });
      std::smatch match;
      EXPECT_FALSE(may_match && std::regex_search(line, match, kElsewhere))
          << file << ':' << number << " names " << match[2] << ", which is no page of this repository";
    }
  }
}

TEST(Citations, LinksInPagesResolve) {
  static const std::regex kLink(R"(\]\(([^)#\s:[]+)(#[^)]*)?\))");
  for (const auto& file : files_to_read()) {
    if (!file.ends_with(".md")) {
      continue;
    }
    const std::string text = text_of(kRoot / file);
    for (auto at = std::sregex_iterator(text.begin(), text.end(), kLink); at != std::sregex_iterator(); ++at) {
      EXPECT_TRUE(fs::exists((kRoot / file).parent_path() / (*at)[1].str())) << file << " has a link to " << (*at)[1];
    }
  }
}

}  // namespace
