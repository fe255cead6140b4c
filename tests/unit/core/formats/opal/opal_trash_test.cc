// Removed sessions of Opal are in the trash unchanged, and are restored unchanged. Each disk operation of both fails in
// turn, and the power fails after each: the session is complete in its store, or in the trash from where it can be
// restored.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/formats/registry.h"
#include "tests/support/crash_disk.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/opal_acts.h"

namespace arborfs {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it
namespace fs = std::filesystem;

constexpr unsigned kEnough = 150;

class Removal {
 public:
  /// `is_apart`: the trash is on another file system.
  Removal(SplitDisk& disk, bool is_apart) : disk_(disk), stage_(disk, settings()) {
    fs::create_directories(stage_.folder() + "/feed/notes");
    std::ofstream(stage_.folder() + "/feed/notes/plan.md") << "the plan";
    fs::create_directories(trash_path());
    disk_.set_apart(is_apart ? trash_path() : "");
  }
  OpalStage& stage() { return stage_; }
  Result<void> remove() { return stage_.writer().remove(stage_.session()); }
  Result<void> restore() {
    const auto all = Trash(trash_path()).list();
    return all.size() == 1 ? restore_session(trash_path(), all.front(), stage_.catalog().stores(), disk_)
                           : Result<void>(Errc::not_found, "the trash is empty");
  }
  [[nodiscard]] std::size_t removed() const { return Trash(trash_path()).list().size(); }
  [[nodiscard]] bool is_whole() const {
    std::ifstream plan(stage_.folder() + "/feed/notes/plan.md");
    const std::string text{std::istreambuf_iterator<char>(plan), {}};
    return stage_.bytes() == std::string(OpalStage::kHeader) + "\n" + OpalStage::kLines && text == "the plan";
  }
  /// After a failure: nothing is lost, and sessions in the trash can be restored.
  void expect_kept() {
    disk_.set_apart("");
    stage_.start();
    if (!is_whole()) {
      const auto done = restore();
      EXPECT_TRUE(done) << done.error().message;
    }
    EXPECT_TRUE(is_whole());
    EXPECT_TRUE(stage_.hidden().empty());
  }

 private:
  static WriteSettings settings() {
    WriteSettings settings;
    settings.allow_delete = true;
    return settings;
  }
  [[nodiscard]] std::string trash_path() const { return stage_.root() + "/trash"; }
  SplitDisk& disk_;
  OpalStage stage_;
};

enum class Act : std::uint8_t { remove, restore };

class OpalTrashActs : public ::testing::TestWithParam<std::tuple<Act, bool>> {
 protected:
  static Act act() { return std::get<0>(GetParam()); }
  static bool is_apart() { return std::get<1>(GetParam()); }
  static Result<void> run(Removal& removal) { return act() == Act::remove ? removal.remove() : removal.restore(); }
  static void prepare(Removal& removal) {
    if (act() == Act::restore) {
      const auto done = removal.remove();
      EXPECT_TRUE(done) << done.error().message;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Acts, OpalTrashActs,
                         ::testing::Combine(::testing::Values(Act::remove, Act::restore), ::testing::Bool()));

TEST_P(OpalTrashActs, SurviveAFailureOfEachOperation) {
  for (const Fault fault : {Fault::no_space, Fault::short_write}) {
    for (const unsigned count : {1U, FaultyDisk::kForGood}) {
      bool met = true;
      unsigned at = 1;
      for (; met && at < kEnough; ++at) {
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, "fault at " + std::to_string(at));
        FaultyDisk disk;
        Removal removal(disk, is_apart());
        prepare(removal);
        disk.arm(fault, at, count);
        const auto done = run(removal);
        disk.disarm();
        met = !disk.met().empty();
        EXPECT_TRUE(done || met) << done.error().message;
        if (done) {
          EXPECT_EQ(fs::exists(removal.stage().log()), act() == Act::restore);
        } else if (count == 1 && act() == Act::remove && !disk.met_sync()) {
          EXPECT_TRUE(removal.is_whole());
        }
        removal.expect_kept();
      }
      EXPECT_GT(at, 4U);
      EXPECT_LT(at, kEnough);
    }
  }
}

TEST_P(OpalTrashActs, SurviveAPowerCutAfterEachOperation) {
  bool is_cut = true;
  for (unsigned behind = 0; is_cut && behind < kEnough; ++behind) {
    CrashDisk disk;
    Removal removal(disk, is_apart());
    prepare(removal);
    disk.begin(removal.stage().root(), behind);
    const auto done = run(removal);
    is_cut = disk.is_off();
    EXPECT_TRUE(is_cut || done) << done.error().message;
    const auto images = disk.images({Bytes::kept, Bytes::dropped, Bytes::torn});
    disk.end();
    for (const Image& image : images) {
      const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                         "power off behind operation " + std::to_string(behind) + ", " + disk.last());
      removal.stage().stop();
      lay_out(image, removal.stage().root());
      if (done) {
        EXPECT_EQ(fs::exists(removal.stage().log()), act() == Act::restore);
      }
      removal.expect_kept();
    }
  }
}

/// Another program writes to the session's folder at one moment of a removal or a restore.
class BusyDisk : public SplitDisk {
 public:
  std::function<void(const std::string& name)> before_removing;
  std::function<void(const std::string& name)> after_removing;
  std::function<void(const std::string& name)> before_naming;
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    if (before_naming) {
      before_naming(new_name);
    }
    return SplitDisk::rename(from, name, to, new_name, existing);
  }
  Result<void> remove(const Dir& folder, const std::string& name) override {
    if (before_removing) {
      before_removing(name);
    }
    auto done = SplitDisk::remove(folder, name);
    if (after_removing) {
      after_removing(name);
    }
    return done;
  }
};

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A removal ended early: a part of the folder is in the store again.
TEST(OpalRestore, KeepsAFileThatIsWrittenWhileItMerges) {
  BusyDisk disk;
  Removal removal(disk, false);
  std::ofstream(removal.stage().folder() + "/feed/more.md") << "more";
  ASSERT_TRUE(removal.remove());
  const std::string notes = removal.stage().folder() + "/feed/notes";
  fs::create_directories(notes);
  std::ofstream(notes + "/plan.md") << "the plan";
  bool is_written = false;
  const auto write = [&](const std::string& /*name*/) {
    if (!std::exchange(is_written, true)) {
      std::ofstream(notes + "/new.md") << "new";
      std::ofstream(notes + "/plan.md", std::ios::app) << ", continued";
    }
  };
  disk.before_naming = write;
  disk.before_removing = write;
  ASSERT_TRUE(removal.restore());
  EXPECT_TRUE(is_written);
  EXPECT_EQ(text_of(notes + "/new.md"), "new");
  EXPECT_EQ(text_of(notes + "/plan.md"), "the plan, continued");
  EXPECT_EQ(text_of(removal.stage().folder() + "/feed/more.md"), "more");
  EXPECT_TRUE(fs::exists(removal.stage().log()));
}

/// Another arborfs starts, and clears away what killed ones left, just before a copy gets its name.
TEST(OpalRestore, SucceedsWhileAnotherProcessStarts) {
  for (const char* const name : {"feed", "plan.md", "feed.jsonl"}) {
    BusyDisk disk;
    Removal removal(disk, true);
    ASSERT_TRUE(removal.remove());
    if (std::string(name) == "plan.md") {
      fs::create_directories(removal.stage().folder() + "/feed/notes");
    }
    int starts = 0;
    disk.before_naming = [&](const std::string& named) {
      if (named == name) {
        ++starts;
        removal.stage().writer().take_back_parts();
      }
    };
    const auto done = removal.restore();
    EXPECT_TRUE(done) << name << ": " << done.error().message;
    EXPECT_GT(starts, 0) << name;
    EXPECT_TRUE(removal.is_whole()) << name;
    EXPECT_TRUE(removal.stage().hidden().empty()) << name;
  }
}

TEST(OpalRemoval, KeepsWhatIsWrittenToTheFolderWhileItIsCopied) {
  for (const bool is_late : {false, true}) {
    BusyDisk disk;
    Removal removal(disk, true);
    const std::string notes = removal.stage().folder() + "/feed/notes";
    std::ofstream late;
    bool is_written = false;
    disk.before_removing = [&](const std::string& name) {
      if (name == "plan.md" && is_late) {
        late.open(notes + "/plan.md", std::ios::app);
      } else if (name == "plan.md" && !std::exchange(is_written, true)) {
        std::ofstream(notes + "/new.md") << "new";
      }
    };
    disk.after_removing = [&](const std::string& name) {
      if (name == "plan.md" && is_late) {
        late << ", continued";
        late.close();
        is_written = true;
      }
    };
    const auto done = removal.remove();
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_TRUE(is_written);
    EXPECT_FALSE(fs::exists(removal.stage().log()));
    EXPECT_EQ(text_of(notes + (is_late ? "/plan.md" : "/new.md")), is_late ? "the plan, continued" : "new");
    EXPECT_EQ(removal.removed(), 1U);
  }
}

TEST(OpalRemoval, KeepsALogThatIsSavedWhileItIsCopied) {
  BusyDisk disk;
  Removal removal(disk, true);
  int namings = 0;  // the first one fails, because the trash is on another file system
  disk.before_naming = [&](const std::string& name) {
    if (name == "feed.jsonl" && ++namings == 2) {
      std::ofstream(removal.stage().log(), std::ios::app) << "{}\n";
    }
  };
  EXPECT_EQ(removal.remove().error().code, Errc::stale);
  EXPECT_TRUE(removal.stage().bytes().ends_with("{}\n"));
  EXPECT_EQ(removal.removed(), 0U);
}

TEST(OpalRemoval, NeedsThePermissionAndComesBackWithItsFolder) {
  SplitDisk disk;
  OpalStage plain(disk);
  EXPECT_EQ(plain.writer().remove(plain.session()).error().code, Errc::not_permitted);
  Removal removal(disk, false);
  ASSERT_TRUE(removal.stage().writer().check_remove(removal.stage().session()));
  ASSERT_TRUE(removal.remove());
  EXPECT_EQ(removal.removed(), 1U);
  EXPECT_TRUE(removal.stage().sessions().empty());
  EXPECT_FALSE(fs::exists(removal.stage().folder() + "/feed"));
  std::ofstream(removal.stage().log()) << "{}\n";
  EXPECT_EQ(removal.restore().error().code, Errc::already_exists);
  fs::remove(removal.stage().log());
  ASSERT_TRUE(removal.restore());
  EXPECT_EQ(removal.removed(), 0U);
  EXPECT_TRUE(removal.is_whole());
}

}  // namespace
}  // namespace arborfs
