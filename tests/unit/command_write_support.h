// A store with one session of two entries, and command lines that write to it. State and trash are in the test's
// folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/json/document.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::testing {

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::istringstream in(bytes_of(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// An entry of a log, with its members as text for comparison.
class Line {
 public:
  explicit Line(const std::string& text) : text_(text) { EXPECT_TRUE(json::parse(text, document_)) << text; }
  std::string operator[](std::string_view path) const {
    const json::Value* at = &document_;
    while (at != nullptr && !path.empty()) {
      const std::size_t dot = std::min(path.find('.'), path.size());
      at = json::member(*at, path.substr(0, dot));
      path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return at == nullptr ? "absent" : at->IsString() ? std::string(json::as_string(*at)) : json::stringify(*at);
  }

 private:
  std::string text_;
  json::Document document_;
};

class WritingTest : public ::testing::Test {
 protected:
  static constexpr char kFolder[] = "-src-kite";
  static constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";
  static constexpr char kId[] = "aaaa000011112222";

  WritingTest() {
    write(TempStore::header(kId, store.root()) + "\n" + TempStore::user("e1e1e1e1", "", "first words") + "\n" +
          TempStore::user("e2e2e2e2", "e1e1e1e1", "second") + "\n");
  }
  void write(const std::string& bytes) const { store.write(kFolder, kName, bytes); }
  [[nodiscard]] std::filesystem::path log() const { return store.log(kFolder, kName); }
  [[nodiscard]] Line last() const { return Line(lines_of(log()).back()); }

  int run(std::vector<std::string> words) {
    if (words[0] != "restore" && words[0] != "trash") {
      words.insert(words.begin() + 1, "--agent-dir=" + store.root());
    }
    return terminal.run(words);
  }
  [[nodiscard]] std::string out() const { return terminal.out.str(); }
  [[nodiscard]] std::string err() const { return terminal.err.str(); }
  Line result() const { return Line(out()); }

  /// The command fails with the reason, prints nothing on standard output, and changes no byte of the log.
  void expect_refused(const std::vector<std::string>& words, const std::string& reason) {
    const std::string before = bytes_of(log());
    EXPECT_EQ(run(words), cli::kFailed) << words[0];
    EXPECT_THAT(err(), ::testing::AllOf(::testing::StartsWith("arborfs: "), ::testing::HasSubstr(reason),
                                        ::testing::EndsWith("\n")))
        << words[0];
    EXPECT_THAT(out(), ::testing::IsEmpty()) << words[0];
    EXPECT_EQ(bytes_of(log()), before) << words[0];
  }

  TempStore store;
  Variable state{"XDG_STATE_HOME", store.root() + "/state"};
  Variable data{"XDG_DATA_HOME", store.root() + "/data"};
  FakeTerminal terminal;
};

}  // namespace arborfs::testing
