// The scenarios with which the real agents wrote the corpus, replayed with arborfs's own manager, on disk and in
// memory. The results must equal those of the agents, except for ids, times and the names made from them.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/formats/omp/edit/session_manager.h"
#include "core/formats/omp/store/memory_store.h"
#include "core/formats/omp/store/store.h"
#include "tests/support/corpus.h"
#include "tests/support/paths.h"
#include "tests/support/replay_ops.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using conformance::ReplayOp;

enum class Storage { files, memory };

struct Scenario {
  std::string name;
  Storage storage;
};

/// Scenarios that need something that this manager does not offer, with the reason.
const std::map<std::string, std::string> kLeftOut = {
    {"w13-rewrite-a", "edits entries in memory before it rewrites"},
    {"w18-rewrite-a", "edits entries in memory before it rewrites"},
    {"w13-branched-c",
     "13 writes branched sessions without the persistence filter (omp/FORMAT.md D9), on purpose not copied"},
    {"w18-branch-append-18", "appends to a branch without moving the leaf, which only the live agent of 18 can tell"},
    {"w18-all-types-18", "as w18-branch-append-18"},
    {"w13-provider-payload",
     "13 drops the payload when it loads (omp/FORMAT.md C22) and keeps that for its next rewrite"},
    {"w13-branched-a", "the agents orphan what hung on a label (omp/FORMAT.md I3); arborfs relinks it, see WriterTest"},
    {"w18-branched-a", "as w13-branched-a"},
    {"w18-title-a", "a title given before anything is on disk: 18 keeps it in the header, arborfs in the slot"},
    {"w13-fork-b", "13 waits again for an assistant after a fork (omp/FORMAT.md G1); arborfs writes at once"},
};

const json::Value* member(const ReplayOp& op, std::string_view key) {
  return json::member(static_cast<const json::Value&>(op.line), key);
}
std::string text(const ReplayOp& op, std::string_view key) {
  return std::string(json::string_member(op.line, key).value_or(std::string_view()));
}

class Player {
 public:
  explicit Player(const Scenario& scenario)
      : ops_(conformance::read_ops(scenario.name)),
        store_(scenario.storage == Storage::files ? omp::open_store(temp_.root()) : omp::make_memory_store()) {
    settings_.dialect = conformance::dialect_of_case(scenario.name);
    settings_.home = "/home/dev";
    settings_.writes.durability = Durability::none;
    settings_.state = scenario.storage == Storage::files ? temp_.root() + "/state" : "";
    manager_ = must(omp::SessionManager::create(store_, "/work/pi", settings_));
  }

  void play() {
    for (std::size_t number = 1; number <= ops_.size(); ++number) {
      const ReplayOp& op = ops_[number - 1];
      SCOPED_TRACE("operation " + std::to_string(number) + ": " + op.name);
      const auto id_of = [&](std::size_t of) { return ids_.at(of); };
      const auto entries = conformance::appended_entries(op, id_of);
      if (entries.empty()) {
        change(op);
      } else {
        ids_[number] = append(op, entries);
      }
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }

  /// The log; "" if it is not on disk yet.
  [[nodiscard]] std::string log() const {
    if (!manager_->is_on_disk()) {
      return "";
    }
    auto log = store_->open(manager_->session()->place());
    return log ? *(*log)->read(0, *(*log)->size()) : "";
  }

 private:
  template <class T>
  static T must(Result<T> result) {
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
    return result ? std::move(*result) : T();
  }
  static void must(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }

  std::string append(const ReplayOp& op, const std::vector<json::Document>& entries) {
    if (op.name == "branchSummary") {
      return must(manager_->branch_with_summary(ref(member(op, "from")), text(op, "summary"), entries.front()));
    }
    if (op.name == "label" && ref(member(op, "target")) == "") {
      return "";
    }
    std::vector<const json::Value*> all;
    for (const auto& entry : entries) {
      all.push_back(&entry);
    }
    return must(manager_->append_all(all));
  }

  std::string ref(const json::Value* value) const {
    if (value == nullptr || value->IsNull()) {
      return "";
    }
    const auto* number = json::member(*value, "$ref");
    return number == nullptr ? std::string(json::as_string(*value))
                             : ids_.at(static_cast<std::size_t>(number->GetDouble()));
  }

  void change(const ReplayOp& op) {
    if (op.name == "branch") {
      must(manager_->branch(ref(member(op, "to"))));
    } else if (op.name == "resetLeaf") {
      must(manager_->reset_leaf());
    } else if (op.name == "setName") {
      must(manager_->set_title(text(op, "name"), text(op, "source")));
    } else if (op.name == "fork") {
      must(manager_->fork());
    } else if (op.name == "forkFrom") {
      manager_ = must(omp::SessionManager::fork_from(store_, manager_->header().id, text(op, "cwd"), settings_));
    } else if (op.name == "createBranched") {
      must(manager_->create_branched_session(ref(member(op, "leaf"))));
    } else if (op.name == "newSession") {
      must(manager_->new_session(text(op, "parentSession")));
    } else if (op.name == "moveTo") {
      must(manager_->move_to(text(op, "cwd")));
    } else if (op.name == "ensureOnDisk") {
      must(manager_->ensure_on_disk());
    } else if (op.name == "reopen") {
      must(manager_->reopen());
    } else if (op.name == "rewrite") {
      must(manager_->rewrite());
    } else {
      ADD_FAILURE() << "no such operation here";
    }
  }

  testing::TempStore temp_;
  const std::vector<ReplayOp> ops_;
  const std::shared_ptr<Store> store_;
  omp::ManagerSettings settings_;
  omp::SessionManager::Ptr manager_;
  std::map<std::size_t, std::string> ids_;
};

/// The lines with each id replaced by the number of its line, and each time by a word.
std::vector<std::string> normalised(const std::string& log) {
  std::vector<std::string> lines;
  std::map<std::string, std::string> names;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    json::Document value;
    EXPECT_TRUE(json::parse(line, value));
    const bool is_header = json::is_string(json::member(value, "type"), "session");
    if (const auto id = json::string_member(value, "id")) {
      names[std::string(*id)] = (is_header ? "session" : "line") + std::to_string(lines.size());
    }
    for (const char* key : {"timestamp", "updatedAt"}) {
      if (json::member(value, key) != nullptr && !json::is_string(json::member(value, "type"), "message")) {
        json::set(value, key, json::make_string("time", value), value);
      }
    }
    if (json::is_string(json::member(value, "type"), "message")) {
      json::set(value, "timestamp", json::make_string("time", value), value);
    }
    for (const char* key : {"parentSession", "providerPromptCacheKey", "previousSessionFiles", "pad"}) {
      if (json::member(value, key) != nullptr) {
        json::set(value, key, json::make_string("elsewhere", value), value);
      }
    }
    for (const char* key :
         {"id", "parentId", "targetId", "fromId", "firstKeptEntryId", "providerReplayThroughEntryId"}) {
      const auto id = json::string_member(value, key);
      if (const auto known = id ? names.find(std::string(*id)) : names.end(); known != names.end()) {
        json::set(value, key, json::make_string(known->second, value), value);
      }
    }
    lines.push_back(json::stringify(value));
  }
  return lines;
}

class ManagerReplay : public ::testing::TestWithParam<Scenario> {};

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (const auto& name : conformance::written_cases()) {
    if (!kLeftOut.contains(name)) {
      all.push_back({name, Storage::files});
      all.push_back({name, Storage::memory});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Corpus, ManagerReplay, ::testing::ValuesIn(scenarios()), [](const auto& with) {
  std::string title = with.param.name + (with.param.storage == Storage::files ? "_files" : "_memory");
  std::replace(title.begin(), title.end(), '-', '_');
  return title;
});

TEST_P(ManagerReplay, LeavesTheLogOfTheAgent) {
  Player player(GetParam());
  player.play();
  const auto path = std::filesystem::path(arborfs::tests::kTestData) / "corpus" / GetParam().name / "session.jsonl";
  const auto wanted = normalised(std::filesystem::exists(path) ? conformance::read_bytes(path.string()) : "");
  const auto got = normalised(player.log());
  for (std::size_t line = 0; line < std::min(wanted.size(), got.size()); ++line) {
    ASSERT_EQ(got[line], wanted[line]) << "line " << line + 1;
  }
  EXPECT_EQ(got.size(), wanted.size());
}

}  // namespace
}  // namespace arborfs
