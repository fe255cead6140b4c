// The power fails after each disk operation of each act on a store, and everything not synced is lost, torn or turned
// into NULs in turn (CONTRACT.md 6 and 7; FAILURES.md P3, P4). Acknowledged entries are there, earlier content is
// there, and the next append works. A killed process is the case in which all unsynced data is kept.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/support/acts.h"
#include "tests/support/crash_disk.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it

constexpr std::size_t kSlot = 256;

struct Outcome {
  Bytes bytes;
  Names names;
  const char* words;
};
constexpr Outcome kOutcomes[] = {
    {Bytes::kept, Names::kept, "bytes and names kept"},
    {Bytes::kept, Names::first_half, "bytes and half of the names kept"},
    {Bytes::kept, Names::gone, "names gone"},
    {Bytes::dropped, Names::kept, "bytes dropped"},
    {Bytes::dropped, Names::first_half, "bytes dropped and half of the names gone"},
    {Bytes::dropped, Names::gone, "bytes dropped and names gone"},
    {Bytes::torn, Names::kept, "bytes torn"},
    {Bytes::torn, Names::gone, "bytes torn and names gone"},
    {Bytes::nuls, Names::kept, "bytes turned to NULs"},
    {Bytes::nuls, Names::gone, "bytes turned to NULs and names gone"},
    {Bytes::newest_kept, Names::kept, "bytes of one file kept, those before it dropped"},
    {Bytes::newest_kept, Names::gone, "bytes of one file kept, those before it dropped, names gone"},
    {Bytes::oldest_kept, Names::kept, "bytes of the last file dropped, those before it kept"},
    {Bytes::oldest_kept, Names::gone, "bytes of the last file dropped, those before it kept, names gone"},
};

std::string behind_header(const std::string& log) {
  return log.substr(std::min(log.size(), log.find('\n') + 1));
}

/// True if everything in `before` is still in `now`, except what the act may change.
bool is_kept(Keeps keeps, const std::string& before, const std::string& now) {
  if (now.starts_with(before)) {
    return true;
  }
  switch (keeps) {
    case Keeps::all_but_slot:
      return now.size() >= before.size() && now.substr(kSlot).starts_with(before.substr(kSlot));
    case Keeps::all_but_header:
      return behind_header(now).starts_with(behind_header(before));
    case Keeps::all_but_last:
    case Keeps::words:
      return count(now, R"("content":"one")") == 1;
    case Keeps::all:
      return false;
  }
  return false;
}

/// Every byte of the log that is in no entry and no header must be shown as damage.
void expect_all_shown(Stage& stage, const SessionPtr& session) {
  const std::string bytes = stage.bytes(session);
  ASSERT_TRUE(session->refresh(Depth::index));
  const auto guard = session->read();
  ASSERT_TRUE(guard);
  const LogIndex& index = guard->index();
  std::string rest = bytes;
  const auto cross_out = [&](std::uint64_t offset, std::uint64_t length) {
    rest.replace(offset, length, length, '\n');
  };
  if (index.header().has_slot) {
    cross_out(0, bytes.find('\n'));
  }
  EXPECT_TRUE(index.header().valid);
  cross_out(index.header().offset, index.header().length);
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    cross_out(index.entry(ordinal).offset, index.length(ordinal));
  }
  for (const Damage& damage : index.damage()) {
    EXPECT_TRUE(!damage.in_progress || guard->tail_aged());
    cross_out(damage.offset, damage.length);
  }
  EXPECT_EQ(rest.find_first_not_of('\n'), std::string::npos) << bytes;
}

void expect_blobs(Stage& stage, const SessionPtr& session) {
  static const std::regex kReference("blob:sha256:([0-9a-f]{64})");
  const std::string bytes = stage.bytes(session);
  for (std::sregex_iterator it(bytes.begin(), bytes.end(), kReference), end; it != end; ++it) {
    EXPECT_TRUE(stage.store().blobs()->open((*it)[1].str())) << "a line refers to a blob that does not exist";
  }
}

std::size_t files_like(const fs::path& root, const std::string& name, const std::string& bytes) {
  std::size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const bool is_it = !entry.is_symlink() && entry.is_regular_file() && entry.path().filename() == name;
    found += is_it && bytes_of_file(entry.path()) == bytes ? 1 : 0;
  }
  return found;
}

class PowerCut {
 public:
  explicit PowerCut(const Act& act) : act_(act), stage_(Storage::files, disk_, settings_of_acts()) {}

  /// False if the act ended before the power failed.
  bool run(unsigned behind) {
    const auto session = prepare(act_, stage_, disk_);
    const auto logs = logs_of_s1(stage_);
    before_ = logs.empty() ? "" : logs.front();
    entries_before_ = session && logs.size() == 1 && the_session(stage_) ? entries_of(session) : 0;
    has_artifacts_ = files_like(root(), "1.bash.log", "output") == 1;
    disk_.begin(root(), behind);
    const auto result = act_.run(stage_, session);
    const bool cut = disk_.is_off();
    is_done_ = result.has_value();
    EXPECT_TRUE(cut || is_done_) << result.error().message;
    std::set<Image> seen;
    std::vector<std::pair<const Outcome*, Image>> images;
    for (const Outcome& outcome : kOutcomes) {
      auto image = disk_.image(outcome.bytes, outcome.names);
      if (seen.insert(image).second) {
        images.emplace_back(&outcome, std::move(image));
      }
    }
    disk_.end();
    disk_.set_apart("");
    for (const auto& [outcome, image] : images) {
      const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                         std::string(act_.name) + ", power off behind operation " +
                                             std::to_string(behind) + " (" + disk_.last() + "): " + outcome->words +
                                             "; " + (result ? "it was acknowledged" : result.error().message));
      look_at(image);
    }
    return cut;
  }

 private:
  [[nodiscard]] std::string root() const { return stage_.temp().root(); }

  void look_at(const Image& image) {
    stage_.stop();
    lay_out(image, root());
    stage_.start();
    if (is_done_) {
      EXPECT_TRUE(act_.is_done(stage_)) << "what was acknowledged is not there";
    }
    expect_nothing_lost();
    std::vector<LogPlace> places;
    for (const auto& [name, session] : stage_.catalog().view()->by_id) {
      expect_all_shown(stage_, session);
      expect_blobs(stage_, session);
      places.push_back(session->place());
    }
    for (const LogPlace& place : places) {
      expect_next_append(place);
    }
  }

  void expect_nothing_lost() {
    const auto logs = logs_of_s1(stage_);
    EXPECT_EQ(logs.empty(), before_.empty()) << "the session is gone";
    for (const std::string& log : logs) {
      EXPECT_TRUE(is_kept(act_.keeps, before_, log)) << "before:\n" << before_ << "now:\n" << log;
    }
    const auto session = the_session(stage_);
    const std::size_t gone = act_.keeps == Keeps::all_but_last ? 1 : 0;
    EXPECT_TRUE(!session || entries_of(session) + gone >= entries_before_);
    EXPECT_TRUE(!has_artifacts_ || files_like(root(), "1.bash.log", "output") > 0) << "the artifacts are gone";
  }

  void expect_next_append(const LogPlace& place) {
    const auto session = stage_.catalog().at(place);
    const std::string bytes = stage_.bytes(session);
    const std::size_t entries = entries_of(session);
    const bool is_migrated = session->head().header.migrated;
    const auto written = stage_.writer().append(session, Stage::text("the next one"));
    ASSERT_TRUE(written) << written.error().message;
    stage_.restart();
    const auto again = stage_.catalog().at(place);
    ASSERT_TRUE(again);
    EXPECT_EQ(entries_of(again), entries + 1);
    EXPECT_EQ(Stage::leaf_id(again), written->id);
    EXPECT_TRUE(is_migrated || stage_.bytes(again).starts_with(bytes));
    EXPECT_EQ(Stage::field(stage_.lines(again).back(), "id"), written->id) << "it was glued to something";
  }

  const Act& act_;
  CrashDisk disk_;
  Stage stage_;
  std::string before_;
  std::size_t entries_before_ = 0;
  bool has_artifacts_ = false;
  bool is_done_ = false;
};

class CrashTest : public ::testing::TestWithParam<Act> {};

INSTANTIATE_TEST_SUITE_P(Acts, CrashTest, ::testing::ValuesIn(kActs), name_of);

TEST_P(CrashTest, LogSurvivesAPowerCutAfterEachOperation) {
  constexpr unsigned kEnough = 200;
  unsigned behind = 0;
  while (behind < kEnough && PowerCut(GetParam()).run(behind)) {
    behind += testing::kSanitizedShare;
  }
  EXPECT_GT(behind, 3U) << "the disk is not the one that is written through";
  EXPECT_LT(behind, kEnough);
}

}  // namespace
}  // namespace arborfs
