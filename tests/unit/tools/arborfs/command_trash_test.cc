// The verbs that move sessions to the trash and restore them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/child.h"
#include "tests/support/paths.h"
#include "tests/unit/command_write_support.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::bytes_of;
using ::arborfs::testing::lines_of;
using ::arborfs::testing::TempStore;
using ::arborfs::testing::Variable;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

namespace fs = std::filesystem;

/// Every file below a folder, with its bytes.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[fs::relative(entry.path(), folder).string()] = bytes_of(entry.path());
    }
  }
  return files;
}

class CommandTrashTest : public ::arborfs::testing::WritingTest {
 protected:
  CommandTrashTest() {
    fs::create_directories(store.sessions() / kFolder / kName / "deep");
    std::ofstream(store.sessions() / kFolder / kName / "0.bash.log") << "output\n";
    std::ofstream(store.sessions() / kFolder / kName / "deep" / "x.bin") << std::string(3, '\0');
    std::ofstream(log().string() + ".1.bak") << "backup\n";
  }
  std::string removed_name() const { return out().substr(out().rfind(' ') + 1, out().size() - out().rfind(' ') - 2); }
};

TEST_F(CommandTrashTest, F9RestoreUndoesRm) {
  const auto before = files_below(store.sessions());
  ASSERT_THAT(before, SizeIs(4));
  const auto written = fs::last_write_time(log());
  EXPECT_EQ(run({"rm", "-y", kId}), kDone) << err();
  EXPECT_THAT(out(), StartsWith("removed; to bring it back: arborfs restore "));
  EXPECT_THAT(files_below(store.sessions()), IsEmpty());
  const std::string name = removed_name();
  EXPECT_EQ(run({"ls", "-q"}), kDone);
  EXPECT_THAT(out(), IsEmpty());
  EXPECT_EQ(run({"restore", name}), kDone) << err();
  EXPECT_EQ(out(), "restored " + log().string() + "\n");
  EXPECT_EQ(files_below(store.sessions()), before);
  EXPECT_EQ(fs::last_write_time(log()), written);
  EXPECT_EQ(run({"restore", "--json"}), kDone);
  EXPECT_EQ(out(), "[]\n");
}

TEST_F(CommandTrashTest, RestoreRecreatesAMissingFolder) {
  const auto before = files_below(store.sessions());
  EXPECT_EQ(run({"rm", "-y", kId, "--json"}), kDone) << err();
  EXPECT_EQ(result()["session"], kId);
  const std::string name = result()["trashed"];
  fs::remove_all(store.sessions() / kFolder);
  EXPECT_EQ(run({"restore", name, "--json"}), kDone) << err();
  EXPECT_EQ(result()["restored"], name);
  EXPECT_EQ(result()["log"], log().string());
  EXPECT_EQ(files_below(store.sessions()), before);
}

TEST_F(CommandTrashTest, RestoreListsAndSelectsTrashedSessions) {
  EXPECT_EQ(run({"restore"}), kDone);
  EXPECT_EQ(out(), "the trash is empty\n");
  expect_refused({"restore", "latest"}, "the trash is empty\n");
  EXPECT_EQ(run({"title", kId, "Kites"}), kDone);
  EXPECT_EQ(run({"rm", "-y", kId}), kDone) << err();
  const std::string name = removed_name();
  write(TempStore::header(kId, store.root()) + "\n");
  EXPECT_EQ(run({"rm", "-y", "latest"}), kDone) << err();
  const std::string second = removed_name();
  EXPECT_EQ(run({"restore"}), kDone);
  std::istringstream table(out());
  std::vector<std::string> rows;
  for (std::string row; std::getline(table, row);) {
    rows.push_back(row);
  }
  EXPECT_THAT(
      rows, ElementsAre(StartsWith("REMOVED"), AllOf(HasSubstr("  (no conversation)  "), EndsWith("  " + second)),
                        AllOf(HasSubstr("  Kites   "), HasSubstr("  " + std::string(kFolder) + "  "), EndsWith(name))));
  EXPECT_EQ(run({"restore", "--json"}), kDone);
  json::Document list;
  ASSERT_TRUE(json::parse(out(), list)) << out();
  ASSERT_EQ(list.Size(), 2U);
  EXPECT_EQ(json::string_member(list[1], "title"), "Kites");
  EXPECT_EQ(run({"restore", name.substr(0, 10)}), kFailed);
  EXPECT_THAT(err(), HasSubstr("2 sessions in the trash have this prefix"));
  EXPECT_EQ(run({"restore", "latest"}), kDone) << err();
  EXPECT_THAT(lines_of(log()), SizeIs(1));
  EXPECT_EQ(run({"restore", name.substr(0, name.size() - 3)}), kFailed) << "its place is taken";
  EXPECT_EQ(err(),
            "arborfs: " + log().string() + " exists again; move it away and run: arborfs restore " + name + "\n");
  EXPECT_THAT(lines_of(log()), SizeIs(1));
  EXPECT_EQ(run({"restore"}), kDone);
  EXPECT_THAT(out(), HasSubstr(name)) << "and it is still in the trash";
}

TEST_F(CommandTrashTest, RestoreTakesTheIdThatRmTook) {
  EXPECT_EQ(run({"rm", "-y", kId}), kDone) << err();
  EXPECT_EQ(run({"restore", std::string(kId).substr(0, 8)}), kDone) << err();
  EXPECT_THAT(lines_of(log()), ::testing::Not(::testing::IsEmpty()));
}

/// A folder on another file system than the store's, if there is one.
struct Elsewhere {
  explicit Elsewhere(const fs::path& store) {
    std::string name = "/dev/shm/arborfs-test-XXXXXX";
    struct stat here {};
    struct stat there {};
    if (::mkdtemp(name.data()) != nullptr) {
      path = name;
    }
    is_other = !path.empty() && ::stat(store.c_str(), &here) == 0 && ::stat(path.c_str(), &there) == 0 &&
               here.st_dev != there.st_dev;
  }
  ~Elsewhere() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
  bool is_other = false;
};

TEST_F(CommandTrashTest, TrashOnAnotherFileSystemKeepsEverything) {
  const Elsewhere elsewhere(store.sessions());
  if (!elsewhere.is_other) {
    GTEST_SKIP() << "there is no other file system here";
  }
  const Variable variable("XDG_DATA_HOME", elsewhere.path.string());
  fs::last_write_time(log(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto written = fs::last_write_time(log());
  const auto before = files_below(store.sessions());
  EXPECT_EQ(run({"rm", "-y", kId}), kDone) << err();
  EXPECT_THAT(files_below(store.sessions()), IsEmpty());
  const std::string name = removed_name();
  const fs::path artifacts = store.sessions() / kFolder / kName;
  fs::create_directories(artifacts);
  std::ofstream(artifacts / "0.bash.log") << "another file";
  const auto taken = files_below(store.sessions());
  EXPECT_EQ(run({"restore", name}), kFailed) << "the artifacts' place is taken";
  EXPECT_EQ(files_below(store.sessions()), taken);
  fs::remove_all(artifacts);
  EXPECT_EQ(run({"restore", name}), kDone) << err();
  EXPECT_EQ(files_below(store.sessions()), before);
  EXPECT_EQ(fs::last_write_time(log()), written);
  EXPECT_EQ(run({"restore", "--json"}), kDone);
  EXPECT_EQ(out(), "[]\n");
}

TEST_F(CommandTrashTest, RmTakesSeveralSessionsOrNone) {
  for (const std::string id : {"bbbb", "cccc"}) {
    store.write(kFolder, "2026-02-16T10-20-30-000Z_" + id, TempStore::header(id, "/home/dev/kite") + "\n");
  }
  const auto before = files_below(store.sessions());
  EXPECT_EQ(run({"rm", "-y", "bbbb", "nosuch", "cccc", "neither"}), kFailed);
  EXPECT_THAT(err(), AllOf(HasSubstr("'nosuch'"), HasSubstr("'neither'")));
  EXPECT_EQ(files_below(store.sessions()), before) << "nothing is removed unless all are found";
  terminal.io.in_is_terminal = true;
  terminal.type("n\n");
  EXPECT_EQ(run({"rm", "bbbb", "cccc"}), kFailed);
  EXPECT_THAT(err(),
              AllOf(HasSubstr("  bbbb (no conversation)\n  cccc (no conversation)\nremove these 2 sessions? [y/N]")));
  EXPECT_EQ(files_below(store.sessions()), before);
  terminal.type("y\n");
  EXPECT_EQ(run({"rm", "-y", "bbbb", "cccc", "bbbb", "--json"}), kDone) << err();
  json::Document removed;
  ASSERT_TRUE(json::parse(out(), removed)) << out();
  ASSERT_EQ(removed.Size(), 2U) << "each once";
  EXPECT_EQ(json::string_member(removed[0], "session"), "bbbb");
  EXPECT_EQ(json::string_member(removed[1], "session"), "cccc");
  for (const auto& one : removed.GetArray()) {
    EXPECT_EQ(run({"restore", std::string(*json::string_member(one, "trashed"))}), kDone) << err();
  }
  EXPECT_EQ(files_below(store.sessions()), before);
}

TEST_F(CommandTrashTest, EmptyDeletesWhatIsInTheTrash) {
  for (const std::string id : {"bbbb", "cccc"}) {
    store.write(kFolder, "2026-02-16T10-20-30-000Z_" + id, TempStore::header(id, "/home/dev/kite") + "\n");
  }
  EXPECT_EQ(run({"rm", "-y", "bbbb", "cccc"}), kDone) << err();
  const fs::path trash = fs::path(store.root()) / "data" / "arborfs" / "trash";
  const auto before = files_below(trash);
  EXPECT_EQ(run({"trash", "list"}), kDone);
  EXPECT_THAT(out(), AllOf(StartsWith("REMOVED"), HasSubstr("_bbbb"), HasSubstr("_cccc")));
  EXPECT_EQ(run({"trash", "empty", "-n"}), kDone) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("would delete "), EndsWith("2 sessions would be deleted from the trash\n")));
  EXPECT_EQ(run({"trash", "empty", "--days=1", "--json"}), kDone) << err();
  EXPECT_EQ(out(), "{\"dryRun\":false,\"deleted\":[]}\n") << "both were removed just now";
  EXPECT_EQ(run({"trash", "--days=1"}), kDone) << err();
  EXPECT_EQ(out(), "nothing in the trash was removed so long ago\n");
  terminal.io.in_is_terminal = true;
  terminal.type("n\n");
  EXPECT_EQ(run({"trash", "empty"}), kFailed);
  EXPECT_THAT(err(), StartsWith("delete 2 sessions from the trash for good? [y/N]"));
  EXPECT_EQ(files_below(trash), before);
  EXPECT_EQ(run({"trash", "empty", "--yes"}), kDone) << err();
  EXPECT_EQ(out(), "2 sessions deleted from the trash\n");
  EXPECT_THAT(files_below(trash), IsEmpty());
  EXPECT_TRUE(fs::exists(log())) << "sessions outside the trash stay";
  EXPECT_EQ(run({"trash"}), kDone);
  EXPECT_EQ(out(), "the trash is empty\n");
  EXPECT_EQ(run({"trash", "burn"}), kUsage);
}

TEST_F(CommandTrashTest, EmptyGoesOnAfterASessionThatIsBeingRestored) {
  store.write(kFolder, "2026-02-16T10-20-30-000Z_bbbb", TempStore::header("bbbb", "/home/dev/kite") + "\n");
  EXPECT_EQ(run({"rm", "-y", kId, "bbbb"}), kDone) << err();
  EXPECT_EQ(run({"trash", "--json"}), kDone);
  json::Document list;
  ASSERT_TRUE(json::parse(out(), list)) << out();
  const std::string name(*json::string_member(list[0], "name"));
  const fs::path files = fs::path(store.root()) / "data" / "arborfs" / "trash" / name / "files";
  const int held = ::open(files.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_EQ(run({"trash", "empty", "-y"}), kFailed);
  EXPECT_THAT(err(), AllOf(HasSubstr(name), HasSubstr("another process is removing or restoring the session")));
  EXPECT_EQ(out(), "1 session deleted from the trash\n");
  ::close(held);
  EXPECT_EQ(run({"trash", "empty", "-y"}), kDone) << err();
}

TEST_F(CommandTrashTest, RmContinuesAfterARefusedSession) {
  store.write(kFolder, "2026-02-16T10-20-30-000Z_bbbb", TempStore::header("bbbb", "/home/dev/kite") + "\n");
  const int descriptor = ::open(log().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  const ::arborfs::testing::Child writer([] { ::pause(); });
  ::close(descriptor);  // now open for writing only in the child: live
  EXPECT_EQ(run({"rm", "-y", kId, "bbbb"}), kFailed);
  EXPECT_THAT(err(), StartsWith("arborfs: " + std::string(kId) + " (first words): "));
  EXPECT_THAT(out(), StartsWith("removed; "));
  EXPECT_TRUE(fs::exists(log()));
  EXPECT_FALSE(fs::exists(store.log(kFolder, "2026-02-16T10-20-30-000Z_bbbb")));
}

TEST_F(CommandTrashTest, RmAsksAtATerminal) {
  terminal.io.in_is_terminal = true;
  for (const char* answer : {"", "\n", "n\n", "nay\n"}) {
    terminal.type(answer);
    EXPECT_EQ(run({"rm", kId}), kFailed);
    EXPECT_THAT(err(), AllOf(StartsWith("remove session aaaa"), HasSubstr("[y/N]")));
    EXPECT_TRUE(fs::exists(log()));
  }
  terminal.type("y\n");
  EXPECT_EQ(run({"rm", kId}), kDone) << err();
  EXPECT_EQ(run({"restore", "latest"}), kDone);
  terminal.type("");
  EXPECT_EQ(run({"rm", "-y", kId}), kDone) << err();
  EXPECT_EQ(run({"restore", "latest"}), kDone);
  EXPECT_EQ(run({"rm", "--force", kId}), kDone) << err();
  EXPECT_THAT(err(), IsEmpty());
}

/// A session of OpenCode, and one that it started, in a copy of a store.
struct Family {
  const char* store;
  const char* starter;
  const char* child;
};

class CommandTrashOfFamilies : public ::testing::TestWithParam<Family> {
 protected:
  CommandTrashOfFamilies() {
    fs::copy(std::string(::arborfs::tests::kTestData) + "/opencode/" + GetParam().store, folder_,
             fs::copy_options::recursive);
  }
  int run(std::vector<std::string> words) {
    words.push_back("--store=opencode=" + folder_);
    return terminal_.run(words);
  }
  std::string listed() {
    EXPECT_EQ(run({"ls", "-c", "-q"}), kDone) << terminal_.err.str();
    return terminal_.out.str();
  }
  std::string restored() {
    EXPECT_EQ(terminal_.run({"restore", "latest"}), kDone) << terminal_.err.str();
    return listed();
  }
  const std::string starter_ = GetParam().starter;
  const std::string child_ = GetParam().child;

  TempStore scratch_;
  const std::string folder_ = scratch_.root() + "/opencode";
  Variable state_{"XDG_STATE_HOME", scratch_.root() + "/state"};
  Variable data_{"XDG_DATA_HOME", scratch_.root() + "/data"};
  ::arborfs::testing::FakeTerminal terminal_;
};
INSTANTIATE_TEST_SUITE_P(
    Stores, CommandTrashOfFamilies,
    ::testing::Values(Family{"files", "ses_e002f8777ffeMErkYNoHmp2idw", "ses_e002f859fffeh80XqA3TcrIfhH"},
                      Family{"fresh-1.18.33", "ses_e002da378ffexH615MJVRRN5p7", "ses_e002da05effe4Op4OEWOaPWXDA"}));

TEST_P(CommandTrashOfFamilies, RmTakesASessionAndOneThatItStarted) {
  const std::string before = listed();
  EXPECT_EQ(run({"rm", "-y", "--json", starter_, child_}), kDone) << terminal_.err.str();
  json::Document removed;
  ASSERT_TRUE(json::parse(terminal_.out.str(), removed)) << terminal_.out.str();
  ASSERT_EQ(removed.Size(), 2U);
  EXPECT_EQ(json::string_member(removed[0], "session"), starter_);
  EXPECT_EQ(json::string_member(removed[1], "session"), child_);
  EXPECT_EQ(json::string_member(removed[0], "trashed"), json::string_member(removed[1], "trashed"));
  EXPECT_EQ(restored(), before) << "one restore brings both back";
  EXPECT_EQ(run({"rm", "-y", starter_, child_}), kDone) << terminal_.err.str();
  EXPECT_THAT(terminal_.out.str(), AllOf(StartsWith("removed; to bring it back: arborfs restore "),
                                         EndsWith("\n" + child_ + " was removed with " + starter_ + "\n")));
  EXPECT_EQ(restored(), before);
}

TEST_P(CommandTrashOfFamilies, RmTakesThemInTheOtherOrder) {
  const std::string before = listed();
  EXPECT_EQ(run({"rm", "-y", child_, starter_}), kDone) << terminal_.err.str();
  EXPECT_NE(restored(), before) << "they are in the trash one by one";
  EXPECT_EQ(restored(), before);
}

}  // namespace
}  // namespace arborfs::cli
