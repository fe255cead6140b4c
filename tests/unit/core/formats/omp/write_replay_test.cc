// Builds every entry that the real agents appended to the logs of the corpus, and compares byte for byte.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/formats/omp/edit/entry_draft.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/date.h"
#include "tests/support/corpus.h"
#include "tests/support/paths.h"
#include "tests/support/replay_ops.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::omp {
namespace {

using conformance::ReplayOp;

// createBranchedSession() of 13 writes what is in memory, without the filter (omp/FORMAT.md D9).
constexpr std::string_view kUnfiltered = "w13-branched-c";

std::filesystem::path folder_of(const std::string& name) {
  return std::filesystem::path(arborfs::tests::kTestData) / "corpus" / name;
}

/// The last line with each id in the case's log.
std::map<std::string, std::string> lines_by_id(const std::string& name) {
  std::map<std::string, std::string> lines;
  for (const std::string& line : json::testing::lines_of(folder_of(name) / "session.jsonl")) {
    json::Document value;
    EXPECT_TRUE(json::parse(line, value));
    if (const auto id = json::string_member(value, "id")) {
      lines[std::string(*id)] = line;
    }
  }
  return lines;
}

EntryStamp stamp_of(const std::string& line) {
  json::Document value;
  EXPECT_TRUE(json::parse(line, value));
  EntryStamp stamp;
  stamp.id = *json::string_member(value, "id");
  json::stringify(*json::member(static_cast<const json::Value&>(value), "parentId"), stamp.parent_json);
  stamp.timestamp_ms = json::parse_date(*json::string_member(value, "timestamp")).value_or(-1);
  return stamp;
}

/// The ids of entries that later operations changed.
std::set<std::string> edited_ids(const std::vector<ReplayOp>& ops) {
  std::set<std::string> ids;
  for (const ReplayOp& op : ops) {
    if (op.name == "edit") {
      const json::Value* target = json::member(static_cast<const json::Value&>(op.line), "target");
      ids.insert(ops.at(static_cast<std::size_t>(json::member(*target, "$ref")->GetDouble()) - 1).result_id);
    }
  }
  return ids;
}

struct Replayed {
  std::size_t lines = 0;
  std::set<std::string> blobs;
  std::map<std::string, std::size_t> types;
};

/// The id of the entry `back` places before the last one of a batch.
std::string id_in_batch(const std::map<std::string, std::string>& lines, std::string id, std::size_t back) {
  for (; back > 0; --back) {
    json::Document value;
    json::parse(lines.at(id), value);
    id = json::string_member(value, "parentId").value_or("");
  }
  return id;
}

void replay(const std::string& name, Replayed& replayed) {
  const auto ops = conformance::read_ops(name);
  const auto lines = lines_by_id(name);
  const auto edited = edited_ids(ops);
  const Dialect dialect = conformance::dialect_of_case(name);
  const auto id_of = [&ops](std::size_t op) { return ops.at(op - 1).result_id; };
  for (const ReplayOp& op : ops) {
    const auto entries = conformance::appended_entries(op, id_of);
    EXPECT_TRUE(op.result_id.empty() || !entries.empty()) << op.name << " is not known to the replay";
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto draft = make_draft(entries[i], dialect);
      ASSERT_TRUE(draft.has_value()) << draft.error().message;
      for (const PendingBlob& blob : draft->blobs) {
        replayed.blobs.insert(blob.hash);
      }
      if (lines.count(op.result_id) == 0 || edited.count(op.result_id) == 1 || name == kUnfiltered) {
        continue;
      }
      const std::string& line = lines.at(id_in_batch(lines, op.result_id, entries.size() - 1 - i));
      EXPECT_EQ(draft->line(stamp_of(line)), line + "\n");
      EXPECT_EQ(draft->is_assistant, line.find(R"("message":{"role":"assistant")") != std::string::npos);
      ++replayed.lines;
      ++replayed.types[std::string(*json::string_member(entries[i], "type"))];
    }
  }
}

std::set<std::string> blobs_of(const std::string& name) {
  std::set<std::string> names;
  if (std::filesystem::exists(folder_of(name) / "blobs")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_of(name) / "blobs")) {
      if (!entry.path().has_extension()) {
        names.insert(entry.path().filename());
      }
    }
  }
  return names;
}

TEST(WriteReplay, AppendedLinesMatchTheAgents) {
  Replayed all;
  std::size_t blobs = 0;
  for (const std::string& name : conformance::written_cases()) {
    SCOPED_TRACE(name);
    Replayed replayed;
    replay(name, replayed);
    EXPECT_EQ(replayed.blobs, blobs_of(name));
    blobs += replayed.blobs.size();
    all.lines += replayed.lines;
    for (const auto& [type, count] : replayed.types) {
      all.types[type] += count;
    }
  }
  EXPECT_GE(all.lines, 2039U);
  EXPECT_GE(blobs, 21U);
  EXPECT_EQ(all.types.size(), 16U) << "all types but title_change";
}

}  // namespace
}  // namespace arborfs::omp
