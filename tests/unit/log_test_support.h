// The corpus of real sessions, and helpers to compare an index with its oracles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"
#include "core/log/log_file.h"
#include "core/log/log_index.h"
#include "tests/support/paths.h"

namespace arborfs::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::filesystem::path corpus() {
  return std::filesystem::path(arborfs::tests::kTestData) / "corpus";
}

/// The names of the cases that have a log, in order.
inline std::vector<std::string> corpus_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(corpus())) {
    if (std::filesystem::exists(entry.path() / "session.jsonl")) {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::shared_ptr<const LogSource> open_log(const std::string& name) {
  auto dir = Dir::open_root(corpus() / name);
  EXPECT_TRUE(dir.has_value());
  auto log = LogFile::open(*dir, "session.jsonl");
  EXPECT_TRUE(log.has_value());
  return *log;
}

inline std::unique_ptr<LogIndex> build(const LogSource& log, std::optional<omp::Dialect> dialect = std::nullopt) {
  auto index = omp::reader(dialect).index(log, {});
  EXPECT_TRUE(index.has_value());
  return std::move(*index);
}

inline std::unique_ptr<LogIndex> build(std::string bytes, std::optional<omp::Dialect> dialect = std::nullopt) {
  return build(*log_from_bytes(std::move(bytes)), dialect);
}

/// Appends `"key":value` with the id's JSON, or nothing for a missing id. `first`: no comma is needed yet.
inline void put_id(std::string& out, std::string_view key, const EntryId& id, bool& first) {
  if (id.kind == EntryId::Kind::missing) {
    return;
  }
  out += first ? "" : ",";
  first = false;
  json::stringify_string(key, out);
  out += ':';
  if (id.kind == EntryId::Kind::string) {
    json::stringify_string(id.text, out);
  } else {
    out += id.text;
  }
}

/// The entries as the oracles spell them; a type that is not a string is left out.
inline std::string entries_json(const LogIndex& index) {
  std::string out = "[";
  for (Ordinal i = 1; i <= index.size(); ++i) {
    out += i == 1 ? "{" : ",{";
    bool first = true;
    put_id(out, "id", index.id(i), first);
    put_id(out, "parentId", index.parent_id(i), first);
    if (index.entry(i).type != EntryType::none) {
      put_id(out, "type", {EntryId::Kind::string, std::string(index.type_text(i))}, first);
    }
    out += '}';
  }
  return out + "]";
}

/// Everything in an index, for comparing two of them.
inline std::string dump(const LogIndex& index) {
  std::string out = index.header().json + "|" + index.header().problem + "|" + index.header().title + "\n";
  out += std::string(omp::dialect_of(index) == omp::Dialect::omp13 ? "13 " : "18 ") + entries_json(index) + "\n";
  for (Ordinal i = 1; i <= index.size(); ++i) {
    const Entry& entry = index.entry(i);
    out += std::to_string(entry.offset) + "+" + std::to_string(index.length(i)) + " " +
           std::to_string(entry.timestamp_ms) + " " + std::string(index.name(i)) + " parent " +
           std::to_string(index.parent(i)) + (index.is_orphan(i) ? " orphan" : "") + (index.is_tip(i) ? " tip" : "") +
           (index.is_assistant(i) ? " assistant" : "") + "\n";
  }
  out += "tips " + std::to_string(index.tip_count()) + " duplicates " + std::to_string(index.has_duplicate_ids()) +
         " malformed " + std::to_string(index.malformed_records()) + " size " + std::to_string(index.scanned_size());
  for (const Label& label : index.labels()) {
    out += "\nlabel " + label.target.text + "=" + label.text + " by " + std::to_string(label.set_by);
  }
  for (const Damage& damage : index.damage()) {
    out += "\n" + std::string(damage_word(damage.kind)) + " " + std::to_string(damage.offset) + "+" +
           std::to_string(damage.length) + (damage.in_progress ? " in progress" : "");
  }
  for (std::uint64_t value = 0; value < index.size() + 3U; ++value) {
    out += " " + std::to_string(index.entry_at_value(value));
  }
  return out;
}

}  // namespace arborfs::test
