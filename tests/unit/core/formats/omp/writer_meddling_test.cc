// Another program that takes no lock writes the log at every moment of a rewrite (FAILURES.md F4), the log is swapped
// for another file (S15), and the effects of a failure on the next write (F5).

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "core/formats/omp/edit/header_text.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/stage.h"

namespace arborfs::omp {
namespace {

namespace fs = std::filesystem;
using testing::Fault;
using testing::FaultyDisk;
using testing::Stage;
using testing::Storage;
using testing::TempStore;

/// The real disk, which calls `come_in` before the `at`-th operation and the next ones, `times` times in all, and also
/// after renames.
class MeddledDisk : public Disk {
 public:
  void arm(unsigned at, unsigned times, std::function<void()> come_in) {
    done_ = 0;
    at_ = at;
    times_ = times;
    come_in_ = std::move(come_in);
  }
  void disarm() { come_in_ = nullptr; }

  Result<UniqueFd> open_append(const Dir& folder, const std::string& name) override {
    meddle();
    return Disk::open_append(folder, name);
  }
  Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode) override {
    meddle();
    return Disk::create(folder, name, mode);
  }
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    meddle();
    return Disk::write(fd, bytes);
  }
  Result<void> set_mode(int fd, mode_t mode) override {
    meddle();
    return Disk::set_mode(fd, mode);
  }
  Result<void> sync(int fd) override {
    meddle();
    return Disk::sync(fd);
  }
  Result<void> remove(const Dir& folder, const std::string& name) override {
    meddle();
    return Disk::remove(folder, name);
  }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    meddle();
    auto done = Disk::rename(from, name, to, new_name, existing);
    meddle();
    return done;
  }

 private:
  void meddle() {
    ++done_;
    if (come_in_ && done_ >= at_ && times_ > 0) {
      --times_;
      come_in_();
    }
  }
  unsigned done_ = 0;
  unsigned at_ = 0;
  unsigned times_ = 0;
  std::function<void()> come_in_;
};

constexpr const char* kForeign = "words of another program";
constexpr const char* kName = "2026-02-16T10-20-30-000Z_s1";

/// A way of rewriting the whole log, and the version of the log.
struct Rewrite {
  const char* name;
  const char* version;
  Result<void> (*run)(Stage&, const SessionPtr&);
};

template <class Answer>
Result<void> plain(const Result<Answer>& answer) {
  return answer ? Result<void>() : Result<void>(answer.error());
}

const Rewrite kRewrites[] = {
    {"Title", R"("version":3,)",
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().set_title(session, "A title")); }},
    {"Move", R"("version":3,)",
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().move(session, "/work/other")); }},
    {"Migration", R"("version":2,)",
     [](Stage& stage, const SessionPtr& session) { return plain(stage.writer().append(session, Stage::text("x"))); }},
};

std::vector<fs::path> logs_of(const Stage& stage) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(stage.temp().sessions())) {
    if (entry.path().extension() == ".jsonl") {
      found.push_back(entry.path());
    }
  }
  return found;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

unsigned count(const std::string& text, const std::string& word) {
  unsigned found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

class ForeignWriteTest : public ::testing::TestWithParam<Rewrite> {
 protected:
  static constexpr unsigned kEnough = 200;

  /// One rewrite, with another program that runs `times` times from the `at`-th operation on.
  struct Trial {
    MeddledDisk disk;
    Stage stage{Storage::files, disk};
    SessionPtr session;
    unsigned lines = 0;  // the lines that it wrote
    std::string where;   // for messages
    Result<void> done;

    Trial() {
      session = stage.add(kName, R"({"type":"session",)" + std::string(GetParam().version) +
                                     R"("id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work/pi"})" + "\n" +
                                     TempStore::user("aaaa0001", "", "one") + "\n" +
                                     TempStore::user("aaaa0002", "aaaa0001", "two") + "\n");
    }
    [[nodiscard]] fs::path log() const { return logs_of(stage).at(0); }
    std::string line() {
      ++lines;
      return TempStore::user("ffff000" + std::to_string(lines), "aaaa0002", kForeign) + "\n";
    }
    void run(unsigned at, unsigned times, const std::function<void()>& come_in) {
      disk.arm(at, times, come_in);
      done = GetParam().run(stage, session);
      disk.disarm();
      where =
          std::string(GetParam().name) + " at " + std::to_string(at) + ": " + (done ? "done" : done.error().message);
    }
    /// Every line of the other program is in the log, and everything else is unchanged.
    void expect_whole() const {
      EXPECT_TRUE(done || done.error().code == Errc::stale || done.error().code == Errc::busy) << where;
      const auto logs = logs_of(stage);
      EXPECT_EQ(logs.size(), 1U) << where;
      const std::string bytes = bytes_of(logs.at(0));
      EXPECT_EQ(count(bytes, kForeign), lines) << where << ": lines of another program were erased";
      EXPECT_EQ(count(bytes, "\"one\""), 1U) << where;
      EXPECT_TRUE(bytes.ends_with("\n")) << where;
    }
  };

  static unsigned rewrite_beside(unsigned at, unsigned times) {
    Trial trial;
    trial.run(at, times, [&] { std::ofstream(trial.log(), std::ios::app) << trial.line(); });
    trial.expect_whole();
    return trial.lines;
  }
  /// The same with a program that keeps the log open from one operation to the next.
  static unsigned rewrite_while_open(unsigned at) {
    Trial trial;
    std::ofstream open;
    unsigned came = 0;
    trial.run(at, 2, [&] {
      if (++came == 1) {
        open.open(trial.log(), std::ios::app);
      } else {
        open << trial.line();
        open.close();
      }
    });
    trial.expect_whole();
    return came;
  }
};

INSTANTIATE_TEST_SUITE_P(Rewrites, ForeignWriteTest, ::testing::ValuesIn(kRewrites),
                         [](const auto& with) { return std::string(with.param.name); });

TEST_P(ForeignWriteTest, F4RewriteErasesNoForeignLine) {
  unsigned at = 1;
  while (at < kEnough && rewrite_beside(at, 1) > 0) {
    ++at;
  }
  EXPECT_GT(at, 5U) << "the disk is not the one that is written through";
  EXPECT_LT(at, kEnough);
}

TEST_P(ForeignWriteTest, F4LinesWrittenThroughAnOldDescriptorAreCarriedOver) {
  unsigned at = 1;
  while (at < kEnough && rewrite_while_open(at) > 1) {
    ++at;
  }
  EXPECT_GT(at, 5U) << "the disk is not the one that is written through";
  EXPECT_LT(at, kEnough);
}

TEST_P(ForeignWriteTest, F4ContinuousForeignWriterIsNotOverwritten) {
  for (unsigned at = 1; at < 8; ++at) {
    EXPECT_GT(rewrite_beside(at, 1000), 3U);
  }
}

/// Moves a session while a program appends by name and creates the file if it is gone; returns how often it ran.
unsigned move_beside(unsigned at) {
  MeddledDisk disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small(kName);
  const fs::path name = logs_of(stage).at(0);
  unsigned came = 0;
  disk.arm(at, 1, [&] {
    ++came;
    std::ofstream(name, std::ios::app) << TempStore::user("ffff0001", "aaaa0002", kForeign) << "\n";
  });
  const auto done = stage.writer().move(session, "/work/other");
  disk.disarm();
  EXPECT_TRUE(done || done.error().code == Errc::stale) << at << ": " << done.error().message;
  unsigned found = 0;
  for (const auto& log : logs_of(stage)) {
    found += count(bytes_of(log), kForeign);
  }
  EXPECT_EQ(found, came) << at;
  return came;
}

TEST(MovedLog, F4LinesWrittenToTheOldNameFollow) {
  unsigned at = 1;
  while (at < 200 && move_beside(at) > 0) {
    ++at;
  }
  EXPECT_GT(at, 10U) << "the disk is not the one that is written through";
}

TEST(MovedLog, F4LinesFoundAtTheNewNameAreMerged) {
  Stage stage(Storage::files);
  const auto session = stage.add_small(kName);
  stage.temp().write("--work-other--", kName, TempStore::user("ffff0001", "aaaa0002", kForeign) + "\n");
  const auto done = stage.writer().move(session, "/work/other");
  ASSERT_TRUE(done) << done.error().message;
  const auto logs = logs_of(stage);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(count(bytes_of(logs.at(0)), kForeign), 1U);
}

/// Counts a word in all files of a store, including hidden ones.
unsigned count_everywhere(const Stage& stage, const std::string& word) {
  unsigned found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(stage.temp().sessions())) {
    found += entry.is_regular_file() ? count(bytes_of(entry.path()), word) : 0;
  }
  return found;
}

/// Moves a session to a place that already has lines, on a failing disk; false if it met no fault.
bool move_to_lines_with_a_fault(Fault fault, unsigned at, unsigned times) {
  FaultyDisk disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small(kName);
  stage.temp().write("--work-other--", kName, TempStore::user("ffff0001", "aaaa0002", kForeign) + "\n");
  disk.arm(fault, at, times);
  static_cast<void>(stage.writer().move(session, "/work/other"));
  disk.disarm();
  EXPECT_GE(count_everywhere(stage, kForeign), 1U) << at;
  EXPECT_GE(count_everywhere(stage, "\"two\""), 1U) << at;
  return !disk.met().empty();
}

TEST(MovedLog, F4LinesAtTheNewNameSurviveEveryFault) {
  for (const Fault fault : {Fault::no_space, Fault::io, Fault::short_write}) {
    for (const unsigned times : {1U, FaultyDisk::kForGood}) {
      unsigned at = 1;
      while (at < 200 && move_to_lines_with_a_fault(fault, at, times)) {
        ++at;
      }
      EXPECT_GT(at, 10U) << "the disk is not the one that is written through";
      EXPECT_LT(at, 200U);
    }
  }
}

TEST(MovedLog, F4OtherSessionAtTheNewNameIsLeftAlone) {
  Stage stage(Storage::files);
  const auto session = stage.add_small(kName);
  stage.temp().write("--work-other--", kName, TempStore::header("other", "/work/other") + "\n");
  const auto done = stage.writer().move(session, "/work/other");
  EXPECT_EQ(done.error().code, Errc::already_exists);
  EXPECT_EQ(logs_of(stage).size(), 2U);
}

TEST(LateLines, ForeignTornLineIsCarriedOverUnchanged) {
  MeddledDisk disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small(kName);
  disk.arm(6, 1, [&] { std::ofstream(logs_of(stage).at(0), std::ios::app) << R"({"type":"mess)"; });
  ASSERT_TRUE(stage.writer().set_title(session, "A title"));
  disk.disarm();
  EXPECT_TRUE(bytes_of(logs_of(stage).at(0))
                  .ends_with("\n"
                             R"({"type":"mess)"));
}

/// The real disk. It records the writes; a program opens the log right before it is replaced and writes right after.
class DiskWithAWriter : public Disk {
 public:
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    writes.emplace_back(bytes);
    return Disk::write(fd, bytes);
  }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    program.open(log, std::ios::app);
    const auto done = Disk::rename(from, name, to, new_name, existing);
    program << words << std::flush;
    words.clear();
    return done;
  }
  fs::path log;
  std::string words;  // to be written by the program, which keeps running
  std::ofstream program;
  std::vector<std::string> writes;
};

TEST(LateLines, UnfinishedForeignLineIsNotCarriedOverInParts) {
  DiskWithAWriter disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small(kName);
  const std::string line = TempStore::user("ffff0001", "aaaa0002", kForeign) + "\n";
  const std::string half = line.substr(0, line.size() / 2);
  disk.log = logs_of(stage).at(0);
  disk.words = line + half;
  disk.writes.clear();
  ASSERT_TRUE(stage.writer().set_title(session, "A title"));
  EXPECT_EQ(disk.words, "") << "the log was not replaced";
  EXPECT_EQ(std::count(disk.writes.begin(), disk.writes.end(), line), 1) << "the whole line by itself";
  const auto whole = std::find(disk.writes.begin(), disk.writes.end(), line);
  EXPECT_EQ(std::count(whole, disk.writes.end(), half), 1) << "once nothing more is waited for";
}

TEST(RewrittenLog, IsNotWrittenAfterItsFolderMoved) {
  for (unsigned at = 1; at < 12; ++at) {
    MeddledDisk disk;
    Stage stage(Storage::files, disk);
    const auto session = stage.add_small(kName);
    const std::string before = stage.bytes(session);
    const fs::path folder = stage.temp().sessions() / "-work";
    const fs::path elsewhere = stage.temp().sessions() / "elsewhere";
    disk.arm(at, 1, [&] { fs::rename(folder, elsewhere); });
    const auto done = stage.writer().set_title(session, "A title");
    disk.disarm();
    ASSERT_TRUE(fs::exists(elsewhere)) << at;
    EXPECT_FALSE(fs::exists(folder)) << at;
    const std::string now = bytes_of(elsewhere / (std::string(kName) + ".jsonl"));
    EXPECT_TRUE(now == before || (now.find("A title") != std::string::npos && count(now, "\"two\"") == 1)) << at;
  }
}

/// The real disk, on which another file takes the place of the log while it is opened for a write; right after the open
/// the log is put back.
class SwappedDisk : public Disk {
 public:
  fs::path log;
  fs::path other;
  Result<UniqueFd> open_append(const Dir& folder, const std::string& name) override {
    swap(name);
    auto fd = Disk::open_append(folder, name);
    swap(name);
    return fd;
  }
  Result<UniqueFd> open_update(const Dir& folder, const std::string& name) override {
    swap(name);
    auto fd = Disk::open_update(folder, name);
    swap(name);
    return fd;
  }

 private:
  void swap(const std::string& name) const {
    if (name == log.filename()) {
      const fs::path aside = log.string() + ".aside";
      fs::rename(log, aside);
      fs::rename(other, log);
      fs::rename(aside, other);
    }
  }
};

/// Appends and sets the title in the slot while `other` is swapped in; nothing may be written to either file.
void expect_nothing_written(const fs::path& other, SwappedDisk& disk, Stage& stage, const SessionPtr& session) {
  const std::string before = stage.bytes(session);
  const std::string there = bytes_of(other);
  disk.other = other;
  disk.log = stage.temp().log("-work", kName);
  EXPECT_FALSE(stage.writer().append(session, Stage::text("x")));
  EXPECT_FALSE(stage.writer().set_title(session, "x"));
  disk.log.clear();
  EXPECT_EQ(bytes_of(other), there);
  EXPECT_EQ(stage.bytes(session), before);
}

TEST(SwappedLog, S15ReplacementFileIsNotWritten) {
  SwappedDisk disk;
  Stage stage(Storage::files, disk);
  const std::string lines = title_slot_line("First", "user", 1771237231000) + TempStore::header("s1", "/work/pi") +
                            "\n" + TempStore::user("aaaa0001", "", "one") + "\n";
  const auto session = stage.add(kName, lines);
  const fs::path outside = fs::path(stage.temp().root()) / "outside";
  const fs::path link = fs::path(stage.temp().root()) / "link";
  std::ofstream(outside) << lines;
  fs::create_symlink(outside, link);
  expect_nothing_written(link, disk, stage, session);
  expect_nothing_written(outside, disk, stage, session);
  EXPECT_TRUE(stage.writer().append(session, Stage::text("x")));
}

/// A disk that calls `visitor` at the first sync.
class DiskWithAVisitor : public Disk {
 public:
  Result<void> sync(int /*fd*/) override {
    if (const auto come_in = std::exchange(visitor, nullptr)) {
      come_in();
    }
    return {};
  }
  std::function<void()> visitor;
};

TEST(MovedStore, EarlierAppendIsAcknowledged) {
  for (const char* const moved : {"sessions", "sessions/-work"}) {
    DiskWithAVisitor disk;
    Stage stage(Storage::files, disk);
    const SessionPtr session = stage.add_small(kName);
    const fs::path root(stage.temp().root());
    disk.visitor = [&] {
      fs::rename(root / moved, root / "elsewhere");
      stage.catalog().rescan();
    };
    const auto written = stage.writer().append(session, Stage::text("just in time"));
    ASSERT_TRUE(written) << moved << ": " << written.error().message;
    const fs::path log = moved == std::string("sessions") ? root / "elsewhere/-work" : root / "elsewhere";
    EXPECT_NE(bytes_of(log / (std::string(kName) + ".jsonl")).find("just in time"), std::string::npos) << moved;
  }
}

TEST(MovedStore, ReplacementLogIsNotMistakenForIt) {
  DiskWithAVisitor disk;
  Stage stage(Storage::files, disk);
  const SessionPtr session = stage.add_small(kName);
  const fs::path log(stage.temp().log("-work", kName));
  disk.visitor = [&] {
    fs::remove(log);
    stage.catalog().rescan();
    std::ofstream(log) << "another\n";
  };
  EXPECT_FALSE(stage.writer().append(session, Stage::text("just in time")));
}

TEST(TransientErrors, F5AppendSucceedsAfterEachFailedOperation) {
  constexpr unsigned kEnough = 100;
  for (const Fault fault : {Fault::no_space, Fault::io, Fault::short_write}) {
    unsigned at = 1;
    for (bool met = true; met && at < kEnough; ++at) {
      FaultyDisk disk;
      Stage stage(Storage::files, disk);
      const auto session = stage.add_small(kName);
      disk.arm(fault, at, 1);
      const auto failed = stage.writer().append(session, Stage::text("the first"));
      disk.disarm();
      met = !disk.met().empty();
      EXPECT_TRUE(failed || met) << failed.error().message;
      const auto written = stage.writer().append(session, Stage::text("the second"));
      EXPECT_TRUE(written) << at << ": " << (written ? "" : written.error().message);
      const auto guard = session->read();
      ASSERT_TRUE(guard && written);
      EXPECT_EQ(guard->index().id(guard->leaf()).text, written->id);
    }
    EXPECT_GT(at, 4U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

}  // namespace
}  // namespace arborfs::omp
