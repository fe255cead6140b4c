// Random sequences of changes of every format are taken back, the last one first: the store is as it was.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/acts.h"
#include "tests/support/claude_acts.h"
#include "tests/support/codex_acts.h"
#include "tests/support/goat_acts.h"
#include "tests/support/opal_acts.h"
#include "tests/support/opencode_acts.h"
#include "tests/support/sanitized.h"
#include "tests/support/store_files.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

using testing::expect_random_changes_taken_back;
using testing::files_below;
using testing::files_in;
using testing::session_with_id;

constexpr int kSequences = 500 / testing::kSanitizedShare;

WriteSettings deleting() {
  WriteSettings settings;
  settings.allow_delete = true;
  settings.durability = Durability::none;
  return settings;
}

void expect_taken_back_in_stage(SessionPtr (*make)(testing::Stage&)) {
  testing::Stage stage(testing::Storage::files, Disk::real(), deleting());
  make(stage);
  expect_random_changes_taken_back(
      stage, "#1", [&] { return testing::the_session(stage); }, [&] { return files_in(stage.temp().sessions()); },
      kSequences);
}

TEST(UndoSequences, OfOmp) {
  expect_taken_back_in_stage(testing::with_slot);
}

TEST(UndoSequences, OfPi) {
  expect_taken_back_in_stage(testing::of_pi);
}

TEST(UndoSequences, OfClaude) {
  testing::ClaudeStage stage(Disk::real(), deleting());
  testing::with_belongings(stage);
  stage.start();
  expect_random_changes_taken_back(
      stage, "#1", [&] { return session_with_id(stage.catalog(), testing::kClaudeId); },
      [&] { return files_in(stage.config()); }, kSequences);
}

TEST(UndoSequences, OfCodex) {
  testing::CodexStage stage(Disk::real(), deleting());
  testing::two_turns(stage);
  stage.start();
  expect_random_changes_taken_back(
      stage, "#2", [&] { return stage.session(); }, [&] { return files_in(stage.home()); }, kSequences);
}

/// Its metadata tell when the session was changed last, which an undo does too.
TEST(UndoSequences, OfGoat) {
  testing::GoatStage stage(Disk::real(), deleting());
  testing::with_messages(stage);
  stage.start();
  expect_random_changes_taken_back(
      stage, "#1", [&] { return stage.session(); },
      [&] {
        stage.writer().settle();
        auto files = files_below(stage.base());
        for (auto& [path, bytes] : files) {
          const std::string time = "\"updated_at\": \"";
          if (const std::size_t at = bytes.find(time); at != std::string::npos && path.ends_with("metadata.json")) {
            bytes.erase(at, bytes.find('\n', at) - at);
          }
        }
        return files;
      },
      kSequences);
}

TEST(UndoSequences, OfOpal) {
  testing::OpalStage stage(Disk::real(), deleting());
  expect_random_changes_taken_back(
      stage, "#1", [&] { return stage.session(); }, [&] { return files_in(stage.data_folder()); }, kSequences);
}

class UndoSequencesOfOpenCode : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(OpenCode, UndoSequencesOfOpenCode, ::testing::Values("files", "fresh-1.18.33"),
                         [](const auto& of) { return of.index == 0 ? "files" : "database"; });

TEST_P(UndoSequencesOfOpenCode, AreTakenBack) {
  conformance::OpenCodeStage stage(GetParam(), Disk::real());
  const std::string id = stage.titled(conformance::kOpenCodePlain)->identity().id;
  expect_random_changes_taken_back(
      stage, "#1", [&] { return session_with_id(stage.catalog(), id); }, [&] { return stage.pieces(); },
      kSequences / 2);
}

}  // namespace
}  // namespace arborfs
