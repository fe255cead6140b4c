// The power fails after each operation of each act on a store of OpenCode, and everything not synced is lost, torn or
// turned into NULs in turn. Acknowledged changes are there, each session is complete in the store or in the trash, and
// the next append works.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/crash_disk.h"
#include "tests/support/crash_vfs.h"
#include "tests/support/opencode_acts.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

using conformance::kOpenCodeActs;
using conformance::kOpenCodePlain;
using conformance::lost_of;
using conformance::name_of_act;
using conformance::OpenCodeAct;
using conformance::OpenCodeStage;
using conformance::Program;
using testing::Bytes;
using testing::CrashDisk;
using testing::CrashVfs;
using testing::Image;
using testing::lay_out;
using testing::Names;

struct Fate {
  Bytes bytes;
  Names names;
};
constexpr Fate kFates[] = {{Bytes::kept, Names::kept},    {Bytes::kept, Names::first_half},
                           {Bytes::dropped, Names::kept}, {Bytes::dropped, Names::gone},
                           {Bytes::torn, Names::kept},    {Bytes::nuls, Names::kept},
                           {Bytes::kept, Names::gone}};

class CutsPowerInOpenCode : public ::testing::TestWithParam<OpenCodeAct> {
 protected:
  void look_at(OpenCodeStage& stage, const Image& image, bool is_done, const std::vector<std::string>& whole,
               const std::vector<std::string>& before) {
    const OpenCodeAct& act = GetParam();
    stage.stop();
    lay_out(image, stage.root());
    stage.start();
    stage.expect_sound();
    if (is_done) {
      EXPECT_TRUE(act.is_done(stage, before)) << "what was acknowledged is not there";
    }
    const auto restored = stage.restore_all();
    ASSERT_TRUE(restored) << restored.error().message;
    const auto lost = lost_of(whole, stage.pieces());
    EXPECT_TRUE(lost.empty()) << lost.front();
    const auto next = stage.writer().append_text(stage.titled(kOpenCodePlain), {"the next one", false, ""});
    EXPECT_TRUE(next) << next.error().message;
    stage.expect_sound();
  }

  static void set_journal(const OpenCodeStage& stage, const char* journal) {
    if (!stage.is_in_files()) {
      EXPECT_EQ(Program(stage.database()).run(std::string("PRAGMA journal_mode=") + journal),
                std::string(journal) + "\n");
    }
  }

  [[nodiscard]] std::vector<std::string> operations_of(const std::string& sample, const char* journal) const {
    CrashDisk disk;
    CrashVfs vfs(disk);
    OpenCodeStage stage(sample, disk);
    disk.set_apart(is_apart_ ? stage.trash() : "");
    set_journal(stage, journal);
    EXPECT_TRUE(GetParam().prepare(stage));
    disk.begin(stage.root(), UINT_MAX);
    EXPECT_TRUE(GetParam().run(stage));
    disk.end();
    return disk.operations();
  }

  /// False if the act ended before the power failed.
  bool cut(const std::string& sample, const char* journal, unsigned behind) {
    const OpenCodeAct& act = GetParam();
    CrashDisk disk;
    CrashVfs vfs(disk);
    OpenCodeStage stage(sample, disk);
    disk.set_apart(is_apart_ ? stage.trash() : "");
    set_journal(stage, journal);
    const auto whole = stage.pieces();
    EXPECT_TRUE(act.prepare(stage));
    const auto before = stage.pieces();
    disk.begin(stage.root(), behind);
    const auto done = act.run(stage);
    const bool is_cut = disk.is_off();
    std::set<Image> images;
    for (const Fate& fate : kFates) {
      images.insert(disk.image(fate.bytes, fate.names));
    }
    disk.end();
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "power off behind operation " + std::to_string(behind) + " (" + disk.last() +
                                           "); " + (done ? "it was acknowledged" : done.error().message));
    EXPECT_TRUE(is_cut || done);
    for (const Image& image : images) {
      look_at(stage, image, done.has_value(), whole, before);
    }
    return is_cut;
  }

  /// Of writes in a row, which are mostly those of pages, behind the first and the last one.
  void cut_after_each(const std::string& sample, const char* journal) {
    const auto operations = operations_of(sample, journal);
    EXPECT_GT(operations.size(), 3U) << "the disk is not the one that is written through";
    for (unsigned behind = 0; behind < operations.size() && !HasFailure(); behind += testing::kSanitizedShare) {
      const auto is_write = [&](unsigned i) { return i < operations.size() && operations[i] == "write"; };
      if (behind < 2 || !(is_write(behind - 2) && is_write(behind - 1) && is_write(behind))) {
        EXPECT_TRUE(cut(sample, journal, behind)) << "it has fewer operations now";
      }
    }
    EXPECT_FALSE(cut(sample, journal, UINT_MAX));
  }

  bool is_apart_ = false;  // the trash is on another file system
};

INSTANTIATE_TEST_SUITE_P(Acts, CutsPowerInOpenCode, ::testing::ValuesIn(kOpenCodeActs), name_of_act);

TEST_P(CutsPowerInOpenCode, FilesSurviveAPowerCutAfterEachOperation) {
  cut_after_each("files", "");
}

TEST_P(CutsPowerInOpenCode, FilesSurviveAPowerCutWithATrashOnAnotherFileSystem) {
  is_apart_ = true;
  cut_after_each("files", "");
}

TEST_P(CutsPowerInOpenCode, ADatabaseSurvivesAPowerCutAfterEachOperation) {
  cut_after_each("fresh-1.18.33", "wal");
}

TEST_P(CutsPowerInOpenCode, ADatabaseWithARollbackJournalSurvivesAPowerCutAfterEachOperation) {
  cut_after_each("fresh-1.18.33", "delete");
}

}  // namespace
}  // namespace arborfs
