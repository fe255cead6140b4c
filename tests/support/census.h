// The records of tests/census, and logs of every agent that are made of them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/entry/record_renderer.h"
#include "core/formats/claude/format.h"
#include "core/formats/codex/format.h"
#include "core/formats/goat/format.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/opal/format.h"
#include "core/formats/opencode/format.h"
#include "core/json/document.h"
#include "core/log/log_reader.h"
#include "core/store/format.h"
#include "tests/support/paths.h"

namespace arborfs::tests {

struct CensusAgent {
  std::string name;
  const Format& (*format)();
  std::string header;  // the first line of a log, with its line feed
};

inline const std::vector<CensusAgent>& census_agents() {
  static const std::vector<CensusAgent> all = {
      {"omp", omp::format,
       R"({"type":"session","version":3,"id":"x","timestamp":"2026-06-01T10:00:00.000Z","cwd":"/w"})"
       "\n"},
      {"pi", omp::pi_format,
       R"({"type":"session","version":3,"id":"01a1ffe5-09c1-7be0-82ef-7bbde2eca945","timestamp":"2026-06-01T10:00:00.000Z","cwd":"/w"})"
       "\n"},
      {"opal", opal::format,
       R"({"session_id":"s","current_id":null,"metadata":{}})"
       "\n"},
      {"opencode", opencode::format, ""},
      {"claude", claude::format, ""},
      {"codex", codex::format,
       R"({"timestamp":"2026-06-01T10:00:00.000Z","type":"session_meta","payload":{"id":"x"}})"
       "\n"},
      {"goat", goat::format, ""},
  };
  return all;
}

inline std::string census_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What the page says of each kind of record.
inline std::map<std::string, std::string> census_of(const CensusAgent& agent) {
  std::istringstream page(census_file(std::filesystem::path(kSourceDir) / "core/formats" / agent.name / "FORMAT.md"));
  std::map<std::string, std::string> rows;
  bool is_in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| record | since |")) {
      is_in_table = true;
      std::getline(page, line);
    } else if (is_in_table && line.starts_with("| ")) {
      const std::size_t first = line.find(" | ");
      const std::size_t last = line.rfind(" | ");
      EXPECT_TRUE(rows.emplace(line.substr(2, first - 2), line.substr(last + 3, line.size() - last - 5)).second)
          << line;
    } else {
      is_in_table = false;
    }
  }
  return rows;
}

/// The word between backticks that follows `before`.
inline std::string word_after(const std::string& text, const std::string& before) {
  const std::size_t from = text.find(before + "`");
  return from == std::string::npos ? ""
                                   : text.substr(from + before.size() + 1,
                                                 text.find('`', from + before.size() + 1) - from - before.size() - 1);
}

/// One input.
struct CensusInput {
  std::string row;
  std::vector<std::string> log;  // the records, a line each
  std::vector<std::string> says;
  std::string name;      // of an entry whose name the row does not say
  Ordinal entries = 0;   // that bookkeeping repeats
  bool is_bare = false;  // the log has no other header
  bool is_silent = false;
};

inline CensusInput input_of(const std::string& line) {
  json::Document parsed;
  EXPECT_TRUE(json::parse(line, parsed)) << line;
  CensusInput input;
  input.row = json::string_member(parsed, "row").value_or("");
  for (const json::Value& record : json::member(parsed, "log")->GetArray()) {
    input.log.push_back(json::stringify(record) + "\n");
  }
  for (const json::Value& words : json::member(parsed, "says")->GetArray()) {
    input.says.emplace_back(json::as_string(words));
  }
  input.name = json::string_member(parsed, "name").value_or("");
  const json::Value* entries = json::member(parsed, "entries");
  input.entries = entries == nullptr ? 0 : static_cast<Ordinal>(entries->GetDouble());
  input.is_bare = json::is_truthy(json::member(parsed, "bare"));
  input.is_silent = json::is_truthy(json::member(parsed, "silent"));
  return input;
}

inline std::vector<CensusInput> inputs_of(const CensusAgent& agent) {
  std::istringstream lines(census_file(std::filesystem::path(kTestData) / "census" / (agent.name + ".jsonl")));
  std::vector<CensusInput> inputs;
  for (std::string line; std::getline(lines, line);) {
    inputs.push_back(input_of(line));
  }
  return inputs;
}

/// A log as arborfs reads it.
class ReadLog {
 public:
  ReadLog(const Format& format, std::string bytes) : format_(format), log_(log_from_bytes(std::move(bytes))) {
    auto index = format_.reader->index(*log_, {});
    EXPECT_TRUE(index);
    index_ = std::move(*index);
  }
  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] const LogSource& log() const { return *log_; }
  /// Of all entries.
  [[nodiscard]] std::string text() const {
    std::string all;
    for (Ordinal ordinal = 1; ordinal <= index_->size(); ++ordinal) {
      const auto raw = log_->read(index_->entry(ordinal).offset, index_->length(ordinal));
      std::string one;
      format_.renderer->render(index_->entry(ordinal).type, *raw, one);
      EXPECT_EQ(format_.renderer->measure(index_->entry(ordinal).type, *raw).size, one.size()) << *raw;
      all += one;
    }
    return all;
  }

 private:
  const Format& format_;
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
};

}  // namespace arborfs::tests
