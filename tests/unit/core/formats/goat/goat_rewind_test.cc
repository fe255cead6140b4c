// Checkpoints of goat's sessions, and rewinds to them: nothing outside the working directory is touched, and nothing is
// lost (goat/FORMAT.md D).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "core/base/hash.h"
#include "core/json/document.h"
#include "tests/support/goat_stage.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// Every file below a folder by its path, with permissions and bytes, and the targets of links.
std::map<std::string, std::string> tree_of(const std::string& folder) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    const std::string mode = std::to_string(static_cast<unsigned>(entry.symlink_status().permissions()));
    if (entry.is_symlink()) {
      tree[name] = "-> " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      tree[name] = mode + " " + testing::GoatStage::read(entry.path().string());
    } else if (!entry.is_directory()) {
      tree[name] = "special";
    }
  }
  return tree;
}

std::string hash_of(const std::map<std::string, std::string>& tree) {
  Sha256 digest;
  for (const auto& [name, bytes] : tree) {
    digest.update(name + "\n" + std::to_string(bytes.size()) + "\n" + bytes);
  }
  return digest.finish_hex();
}

/// Counts what opens or changes anything for writing.
class WatchedDisk final : public Disk {
 public:
  int changes = 0;
  Result<UniqueFd> open_append(const Dir& folder, const std::string& name) override {
    ++changes;
    return Disk::open_append(folder, name);
  }
  Result<UniqueFd> open_update(const Dir& folder, const std::string& name) override {
    ++changes;
    return Disk::open_update(folder, name);
  }
  Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode) override {
    ++changes;
    return Disk::create(folder, name, mode);
  }
  Result<void> make_folder(const Dir& folder, const std::string& name, mode_t mode) override {
    ++changes;
    return Disk::make_folder(folder, name, mode);
  }
  Result<void> remove(const Dir& folder, const std::string& name) override {
    ++changes;
    return Disk::remove(folder, name);
  }
};

class GoatRewinding : public ::testing::Test {
 protected:
  GoatRewinding() : stage_(disk_, without_sync()) {
    stage_.add("s1", testing::GoatStage::line("u1", "user", "one"));
    stage_.start();
  }
  static WriteSettings without_sync() {
    WriteSettings settings;
    settings.durability = Durability::none;
    return settings;
  }
  void put(const std::string& name, const std::string& bytes) const {
    testing::GoatStage::put(stage_.work() + "/" + name, bytes);
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    return testing::GoatStage::read(stage_.work() + "/" + name);
  }
  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(stage_.work() + "/" + name); }
  Result<std::string> keep(const std::string& name, std::vector<std::string> files) {
    return stage_.writer().checkpoint(stage_.session(), {name, std::move(files)});
  }
  Result<std::string> rewind(const std::string& name, bool dry_run = false) {
    return stage_.writer().rewind(stage_.session(), name, dry_run);
  }
  /// A checkpoint with this manifest, which has the contents "x" and "y".
  void put_manifest(const std::string& files) const {
    const std::string folder = stage_.base() + "/s1/checkpoints/evil";
    for (const std::string content : {"x", "y"}) {
      testing::GoatStage::put(folder + "/files/" + sha256_hex(content), content);
    }
    testing::GoatStage::put(folder + "/files/" + sha256_hex("other"), "not this");
    testing::GoatStage::put(folder + "/manifest.json", R"({"user_message_uuid":"evil","files":[)" + files + "]}");
  }
  static std::string row(const std::string& path, const std::string& content = "x") {
    return "{\"path\":" + json::stringify_string(path) + R"(,"exists":true,"hash":")" + sha256_hex(content) + "\"}";
  }
  /// Reads a member of the answer as JSON text.
  static std::string member(const std::string& answer, std::string_view key) {
    json::Document document;
    EXPECT_TRUE(json::parse(answer, document)) << answer;
    const json::Value* value = json::member(document, key);
    return value == nullptr ? "" : json::stringify(*value);
  }

  WatchedDisk disk_;
  testing::GoatStage stage_;
};

TEST_F(GoatRewinding, WhatAKilledRewindLeftInTheWorkingDirectoryGoes) {
  put("src/a", "a");
  for (const char* name : {"src/.arborfs-old.tmp", "src/.arborfs-young.tmp", "src/old.tmp"}) {
    put(name, "part");
  }
  for (const char* name : {"src/.arborfs-old.tmp", "src/old.tmp"}) {
    fs::last_write_time(stage_.work() + "/" + name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  ASSERT_TRUE(keep("kept", {"src/a"}));
  EXPECT_FALSE(has("src/.arborfs-old.tmp"));
  EXPECT_TRUE(has("src/.arborfs-young.tmp"));
  EXPECT_TRUE(has("src/old.tmp"));
}

TEST_F(GoatRewinding, ACheckpointIsAsGoatKeepsOne) {
  put("src/a.go", "one");
  put("empty", "");
  fs::permissions(stage_.work() + "/src/a.go", fs::perms(0750));
  const auto kept = keep("before", {"src/a.go", stage_.work() + "/empty", "new.go", "./src/a.go"});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(*kept, R"({"checkpoint":"before","files":2,"absent":1})"
                   "\n");
  const std::string manifest = stage_.file("checkpoints/before/manifest.json");
  EXPECT_THAT(manifest, HasSubstr("{\n  \"user_message_uuid\": \"before\",\n  \"created_at\": \"2"));
  EXPECT_THAT(manifest, HasSubstr("    {\n      \"path\": \"" + stage_.work() +
                                  "/src/a.go\",\n      \"exists\": true,\n"
                                  "      \"hash\": \"" +
                                  sha256_hex("one") +
                                  "\",\n      \"size\": 3,\n      "
                                  "\"mode\": 488\n    }"));
  EXPECT_THAT(manifest, HasSubstr("\"hash\": \"" + sha256_hex("") + "\",\n      \"mode\""));
  EXPECT_THAT(manifest, HasSubstr("/new.go\",\n      \"exists\": false\n    }"));
  EXPECT_EQ(stage_.file("checkpoints/before/files/" + sha256_hex("one")), "one");
  EXPECT_EQ(keep("before", {"empty"}).error().code, Errc::already_exists);
  put("src/a.go", "two");
  const auto again = keep("", {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(*again, HasSubstr(R"(,"files":2,"absent":1})"));
  EXPECT_THAT(testing::GoatStage::names_in(stage_.base() + "/s1/checkpoints"), ::testing::SizeIs(2));
}

TEST_F(GoatRewinding, OnlyFilesOfTheWorkingDirectoryAreKept) {
  put("folder/file", "x");
  fs::create_symlink("/etc/passwd", stage_.work() + "/link");
  fs::create_directory_symlink("/etc", stage_.work() + "/etc");
  ASSERT_EQ(::mkfifo((stage_.work() + "/fifo").c_str(), 0600), 0);
  for (const std::string file : {"../x", "/etc/passwd", "link", "etc/passwd", "folder", "fifo", "."}) {
    EXPECT_FALSE(keep("c", {"folder/file", file})) << file;
  }
  for (const std::string name : {".hidden", "a/b", "..", "session-end", "a\nb"}) {
    EXPECT_EQ(keep(name, {"folder/file"}).error().code, Errc::invalid_argument) << name;
  }
  EXPECT_EQ(keep("c", {}).error().code, Errc::invalid_argument);
  EXPECT_TRUE(fs::is_empty(stage_.base() + "/s1/checkpoints"));
}

TEST_F(GoatRewinding, ARewindPutsFilesBackAndKeepsWhatWasThere) {
  put("src/a.go", "one");
  put("b.go", "b");
  ASSERT_TRUE(keep("before", {"src/a.go", "b.go", "new.go", "same.go"}));
  put("src/a.go", "two");
  put("new.go", "new");
  fs::remove(stage_.work() + "/b.go");
  const auto before = tree_of(stage_.work());
  const auto done = rewind("before");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(get("src/a.go"), "one");
  EXPECT_EQ(get("b.go"), "b");
  EXPECT_FALSE(has("new.go"));
  EXPECT_EQ(member(*done, "written"), "2");
  EXPECT_EQ(member(*done, "removed"), "1");
  EXPECT_EQ(member(*done, "unchanged"), "1");
  EXPECT_EQ(member(*done, "complete"), "true");
  const std::string kept = member(*done, "kept");
  ASSERT_TRUE(rewind(kept.substr(1, kept.size() - 2)));
  EXPECT_EQ(tree_of(stage_.work()), before);
  EXPECT_EQ(rewind("nope").error().code, Errc::not_found);
  EXPECT_TRUE(rewind("befo", true).error().code == Errc::not_found) << "several begin so";
}

TEST_F(GoatRewinding, ADryRunOpensNothingForWriting) {
  put("a", "one");
  ASSERT_TRUE(keep("before", {"a", "b"}));
  put("a", "two");
  put("b", "new");
  const auto before = tree_of(stage_.root());
  disk_.changes = 0;
  const auto would = rewind("before", true);
  ASSERT_TRUE(would) << would.error().message;
  EXPECT_EQ(disk_.changes, 0);
  EXPECT_EQ(tree_of(stage_.root()), before);
  EXPECT_EQ(member(*would, "dryRun"), "true");
  EXPECT_THAT(*would, HasSubstr(R"("action":"restore"})"));
  EXPECT_THAT(*would, HasSubstr(R"("action":"remove"})"));
}

TEST_F(GoatRewinding, HostileManifestsReachNothingElse) {
  const std::string outside = stage_.root() + "/outside";
  testing::GoatStage::put(outside + "/file", "outside");
  put("mine", "mine");
  put("dir/file", "in a folder");
  fs::create_directory_symlink(outside, stage_.work() + "/out");
  fs::create_symlink(outside + "/file", stage_.work() + "/link");
  ASSERT_EQ(::mkfifo((stage_.work() + "/fifo").c_str(), 0600), 0);
  put_manifest(row(outside + "/file") + "," + row("../outside/file") + "," + row("out/file") + "," + row("link") + "," +
               row("fifo") + "," + row("dir") + "," + row("") + "," + row("/") + "," + row("a/../../outside/x") + "," +
               row(stage_.base() + "/s1/metadata.json") + "," + row("mine", "other") + "," + row("dir/file/below") +
               R"(,{"path":"../outside/file","exists":false},{"path":"mine","exists":true,"hash":"../../x"},5,{})");
  const auto before = tree_of(stage_.root());
  const auto done = rewind("evil");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(tree_of(stage_.root()), before) << *done;
  EXPECT_EQ(member(*done, "complete"), "false");
  EXPECT_EQ(member(*done, "written"), "0");
}

/// The session's own store may lie in its working directory.
TEST_F(GoatRewinding, NoSessionIsWrittenThroughItsWorkingDirectory) {
  std::string metadata = stage_.metadata("s1");
  metadata.replace(metadata.find(stage_.work()), stage_.work().size(), stage_.root());
  testing::GoatStage::put(stage_.base() + "/s1/metadata.json", metadata);
  stage_.start();
  put_manifest(row("goat/sessions/s1/metadata.json") + "," + row("goat/sessions/new"));
  const auto done = rewind("evil");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(stage_.file("metadata.json"), metadata);
  EXPECT_FALSE(fs::exists(stage_.base() + "/new"));
}

TEST_F(GoatRewinding, NoSessionIsItselfAWorkingDirectory) {
  stage_.add("s2", testing::GoatStage::line("u1", "user", "two"));
  const std::string messages = stage_.file("messages.jsonl", "s2");
  for (const std::string& cwd : {stage_.base() + "/s2", stage_.base()}) {
    std::string metadata = stage_.metadata("s1");
    metadata.replace(metadata.find(stage_.work()), stage_.work().size(), cwd);
    testing::GoatStage::put(stage_.base() + "/s1/metadata.json", metadata);
    stage_.start();
    put_manifest(row("messages.jsonl") + "," + row("s2/messages.jsonl"));
    EXPECT_EQ(rewind("evil").error().code, Errc::not_permitted) << cwd;
    EXPECT_EQ(stage_.file("messages.jsonl", "s2"), messages) << cwd;
  }
}

/// A file that is private in the working directory is private in the checkpoint.
TEST_F(GoatRewinding, AKeptFileIsForItsOwnerOnly) {
  put("key", "secret");
  fs::permissions(stage_.work() + "/key", fs::perms(0600));
  ASSERT_TRUE(keep("before", {"key"}));
  const auto content = stage_.base() + "/s1/checkpoints/before/files/" + sha256_hex("secret");
  EXPECT_EQ(fs::status(content).permissions(), fs::perms(0600));
}

TEST_F(GoatRewinding, TheLastOfSeveralRowsForAFileCounts) {
  put("f", "old");
  put_manifest(row("f", "x") + "," + row("./f", "y"));
  ASSERT_TRUE(rewind("evil"));
  EXPECT_EQ(get("f"), "y");
}

TEST_F(GoatRewinding, ManyFilesNeedBoundedMemory) {
  constexpr int kFiles = 50'000;
  std::string rows;
  for (int i = 0; i < kFiles; ++i) {
    rows += std::string(i == 0 ? "" : ",") + "{\"path\":\"../x" + std::to_string(i) + R"(","exists":false})";
  }
  put_manifest(rows);
  const auto done = rewind("evil");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(member(*done, "unlisted"), std::to_string(kFiles - 10'000));
  EXPECT_LT(done->size(), std::size_t{4} << 20U);
  put_manifest(row(std::string(std::size_t{17} << 20U, 'x')));
  EXPECT_EQ(rewind("evil").error().code, Errc::corrupt);
}

/// Another program changes a file between the new checkpoint and the write.
class MeddlingDisk final : public Disk {
 public:
  std::string file;
  Result<void> set_mode(int fd, mode_t mode) override {
    if (!file.empty()) {
      testing::GoatStage::put(file, "changed by another program");
    }
    return Disk::set_mode(fd, mode);
  }
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    meddle_late(other);
    return Disk::exchange(folder, name, other);
  }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    meddle_late(new_name);
    meddle_with_moved(name);
    return Disk::rename(from, name, to, new_name, existing);
  }
  Result<void> remove(const Dir& folder, const std::string& name) override {
    meddle_with_moved(name);
    return Disk::remove(folder, name);
  }
  std::string late_file;
  std::string moved_file;  // changes when it is renamed or removed

 private:
  void meddle_with_moved(const std::string& name) {
    if (moved_file.ends_with("/" + name)) {
      testing::GoatStage::put(std::exchange(moved_file, ""), "changed by another program");
    }
  }
  void meddle_late(const std::string& name) {
    if (late_file.ends_with("/" + name)) {
      testing::GoatStage::put(std::exchange(late_file, ""), "changed by another program");
    }
  }
};

class GoatRewindingBesideOthers : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Late, GoatRewindingBesideOthers, ::testing::Bool());

TEST_P(GoatRewindingBesideOthers, AFileThatChangesMeanwhileStays) {
  MeddlingDisk disk;
  testing::GoatStage stage(disk);
  stage.add("s1", "");
  stage.start();
  const std::string file = stage.work() + "/f";
  testing::GoatStage::put(file, "one");
  ASSERT_TRUE(stage.writer().checkpoint(stage.session(), {"before", {"f"}}));
  testing::GoatStage::put(file, "two");
  (GetParam() ? disk.late_file : disk.file) = file;
  const auto done = stage.writer().rewind(stage.session(), "before", false);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(*done, HasSubstr("\"complete\":false"));
  EXPECT_THAT(*done, HasSubstr("another program changed it meanwhile"));
  EXPECT_EQ(testing::GoatStage::read(file), "changed by another program");
  EXPECT_EQ(testing::GoatStage::names_in(stage.work()), (std::vector<std::string>{"f"}));
}

/// A file that a rewind removes may be written to until the end.
TEST_P(GoatRewindingBesideOthers, AFileThatIsToBeRemovedStaysWhileAProgramWritesIt) {
  MeddlingDisk disk;
  testing::GoatStage stage(disk);
  stage.add("s1", "");
  stage.start();
  const std::string file = stage.work() + "/f";
  ASSERT_TRUE(stage.writer().checkpoint(stage.session(), {"before", {"f"}}));
  testing::GoatStage::put(file, "new");
  std::ofstream writer;
  if (GetParam()) {
    disk.moved_file = file;
  } else {
    writer.open(file, std::ios::app);
  }
  const auto done = stage.writer().rewind(stage.session(), "before", false);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(*done, HasSubstr("\"complete\":false"));
  EXPECT_THAT(*done, HasSubstr("another program changed it meanwhile"));
  writer << " and more" << std::flush;
  EXPECT_EQ(testing::GoatStage::read(file), GetParam() ? "changed by another program" : "new and more");
  EXPECT_EQ(testing::GoatStage::names_in(stage.work()), (std::vector<std::string>{"f"}));
}

/// Random edits of a small tree.
class Edits {
 public:
  explicit Edits(const std::string& folder, std::uint32_t seed) : folder_(folder), random_(seed) {}
  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const std::string folder : {"", "a/", "a/b/"}) {
      for (const std::string file : {"1", "2"}) {
        names.push_back(folder + file);
      }
    }
    return names;
  }
  void make() {
    const auto all = names();
    for (auto i = random_() % 6; i > 0; --i) {
      const std::string path = folder_ + "/" + all[random_() % all.size()];
      switch (random_() % 4) {
        case 0:
          fs::remove(path);
          break;
        case 1:
          if (fs::exists(path)) {
            fs::permissions(path, fs::perms(random_() % 2 == 0 ? 0755 : 0600));
          }
          break;
        default:
          testing::GoatStage::put(path, std::string(random_() % 50, static_cast<char>('a' + random_() % 5)));
      }
    }
  }

 private:
  const std::string folder_;
  std::mt19937 random_;
};

/// As many rounds as a few seconds allow.
TEST_F(GoatRewinding, RandomRoundsGiveTheTreeOfTheCheckpoint) {
  constexpr int kRounds = 1000;
  constexpr int kFewest = 20;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  Edits edits(stage_.work(), 17);
  for (int round = 0; round < kRounds && (round < kFewest || std::chrono::steady_clock::now() < until); ++round) {
    edits.make();
    const std::string before = hash_of(tree_of(stage_.work()));
    ASSERT_TRUE(keep("kept", Edits::names()));
    edits.make();
    const auto changed = tree_of(stage_.work());
    const auto done = rewind("kept");
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(hash_of(tree_of(stage_.work())), before) << "round " << round << ": " << *done;
    const std::string kept = member(*done, "kept");
    if (!kept.empty() && round % 10 == 0) {
      ASSERT_TRUE(rewind(kept.substr(1, kept.size() - 2)));
      ASSERT_EQ(tree_of(stage_.work()), changed) << "round " << round;
    }
    fs::remove_all(stage_.base() + "/s1/checkpoints");
  }
}

}  // namespace
}  // namespace arborfs
