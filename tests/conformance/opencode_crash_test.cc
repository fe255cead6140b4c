// The power fails after each operation of each act on OpenCode's JSON files, and everything not synced is lost, torn or
// turned into NULs in turn. Acknowledged changes are there, each session is complete in the store or in the trash, and
// the next append works.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/crash_disk.h"
#include "tests/support/opencode_acts.h"

namespace arborfs {
namespace {

using conformance::kOpenCodeActs;
using conformance::kOpenCodePlain;
using conformance::lost_of;
using conformance::name_of_act;
using conformance::OpenCodeAct;
using conformance::OpenCodeStage;
using testing::Bytes;
using testing::CrashDisk;
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

  /// False if the act ended before the power failed.
  bool cut(unsigned behind) {
    const OpenCodeAct& act = GetParam();
    CrashDisk disk;
    OpenCodeStage stage("files", disk);
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
};

INSTANTIATE_TEST_SUITE_P(Acts, CutsPowerInOpenCode, ::testing::ValuesIn(kOpenCodeActs), name_of_act);

TEST_P(CutsPowerInOpenCode, FilesSurviveAPowerCutAfterEachOperation) {
  constexpr unsigned kMost = 500;
  unsigned behind = 0;
  while (behind < kMost && !HasFatalFailure() && cut(behind)) {
    ++behind;
  }
  EXPECT_GT(behind, 3U) << "the disk is not the one that is written through";
  EXPECT_LT(behind, kMost);
}

}  // namespace
}  // namespace arborfs
