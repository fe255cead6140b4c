// Tags of sessions: what the file of notes has, who may change it at once, and what stays in it.
#include "core/session/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NotesTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string folder() const { return store.root() + "/notes"; }
  [[nodiscard]] std::string path() const { return folder() + "/claude.jsonl"; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const {
    std::filesystem::create_directories(folder());
    std::ofstream(path()) << text;
  }
  testing::TempStore store;
  Notes notes{folder(), Disk::real()};
};

TEST_F(NotesTest, TagsAreAddedRemovedAndReplaced) {
  EXPECT_THAT(*notes.change_tags({"claude", "s1"}, {{"green", "blue"}, {}}, true), ElementsAre("blue", "green"));
  EXPECT_THAT(*notes.change_tags({"claude", "s1"}, {{"red"}, {"green", "absent"}}, true), ElementsAre("blue", "red"));
  EXPECT_THAT(*notes.change_tags({"claude", "s2"}, {{"red"}, {}}, true), ElementsAre("red"));
  EXPECT_THAT(*notes.tags(Notes::Key{"claude", "s1"}), ElementsAre("blue", "red"));
  EXPECT_THAT(*notes.tags(Notes::Key{"claude", "s3"}), IsEmpty());
  EXPECT_THAT(*notes.tags(Notes::Key{"codex", "s1"}), IsEmpty());
  EXPECT_THAT(*notes.change_tags({"claude", "s1"}, {{"new", "new"}, {}, true}, true), ElementsAre("new"));
  EXPECT_EQ(bytes(), "{\"session\":\"s1\",\"tags\":[\"new\"]}\n{\"session\":\"s2\",\"tags\":[\"red\"]}\n");
}

TEST_F(NotesTest, AnotherObjectSeesChangesAtOnce) {
  const Notes other(folder(), Disk::real());
  EXPECT_THAT(*other.tags(Notes::Key{"claude", "s1"}), IsEmpty());
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{"blue"}, {}}, true));
  EXPECT_THAT(*other.tags(Notes::Key{"claude", "s1"}), ElementsAre("blue"));
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{}, {"blue"}}, true));
  EXPECT_THAT(*other.tags(Notes::Key{"claude", "s1"}), IsEmpty());
}

TEST_F(NotesTest, WhatThisVersionDoesNotKnowStays) {
  write("not JSON\n{\"session\":\"s1\",\"later\":{\"a\":1},\"tags\":[\"old\",7,\"b/ad\"]}\n{\"other\":true}\n");
  EXPECT_THAT(*notes.tags(Notes::Key{"claude", "s1"}), ElementsAre("old"));
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{"new"}, {}}, true));
  EXPECT_EQ(
      bytes(),
      "{\"session\":\"s1\",\"later\":{\"a\":1},\"tags\":[\"new\",\"old\",7,\"b/ad\"]}\nnot JSON\n{\"other\":true}\n");
}

TEST_F(NotesTest, WordsThatAreNoFolderNamesAreRefused) {
  for (const std::string tag :
       {"", ".", "..", ".hidden", "-x", "a/b", "a b", "a\tb", "a,b", "a\x7f", "a\u200b", "a\u00a0b", "\u009b1m"}) {
    EXPECT_EQ(check_tag(tag).error().code, Errc::invalid_argument) << tag;
  }
  EXPECT_EQ(check_tag("\xff").error().code, Errc::not_utf8);
  EXPECT_EQ(check_tag(std::string(101, 'a')).error().code, Errc::invalid_argument);
  EXPECT_TRUE(check_tag("größe:1"));
  EXPECT_EQ(notes.change_tags({"claude", "s1"}, {{"fine", "a/b"}, {}}, true).error().code, Errc::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(NotesTest, NoTagIsLostWhereAHundredChangeThemAtOnce) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 100; ++writer) {
    writers.emplace_back([this, writer] {
      Notes own(folder(), Disk::real());
      const auto done = own.change_tags({"claude", "s1"}, {{"t" + std::to_string(writer)}, {}}, false);
      EXPECT_TRUE(done) << done.error().message;
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_EQ(notes.tags(Notes::Key{"claude", "s1"})->size(), 100U);
}

TEST_F(NotesTest, EachFailingCallLeavesTheNotesAsTheyWere) {
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{"blue"}, {}}, true));
  const std::string before = bytes();
  for (const testing::Fault fault : {testing::Fault::no_space, testing::Fault::short_write}) {
    bool has_met = true;
    for (unsigned at = 1; has_met; ++at) {
      testing::FaultyDisk disk;
      Notes failing(folder(), disk);
      disk.arm(fault, at, 1);
      const auto done = failing.change_tags({"claude", "s1"}, {{"red"}, {}}, true);
      has_met = !disk.met().empty();
      disk.disarm();
      if (!done && !disk.met_sync()) {
        EXPECT_EQ(bytes(), before) << at;
      }
      write(before);
    }
  }
}

TEST_F(NotesTest, NotesThatCannotBeReadAreNoEmptyNotes) {
  write("{\"session\":\"s1\",\"tags\":[\"a\"]}\n");
  std::filesystem::rename(path(), folder() + "/elsewhere");
  std::filesystem::create_symlink("elsewhere", path());
  EXPECT_FALSE(notes.tags("claude"));
  EXPECT_FALSE(notes.change_tags({"claude", "s1"}, {{"b"}, {}}, true));
}

TEST_F(NotesTest, LinesOfOneSessionCountTogether) {
  write("{\"session\":\"s1\",\"tags\":[\"a\"]} \r\n{\"session\":\"s1\",\"x\":1,\"tags\":[\"b\"]}\n");
  EXPECT_THAT(*notes.tags(Notes::Key{"claude", "s1"}), ElementsAre("a", "b"));
  EXPECT_THAT(*notes.change_tags({"claude", "s1"}, {{}, {"a"}}, true), ElementsAre("b"));
  EXPECT_THAT(bytes(), ::testing::HasSubstr("\"x\":1"));
}

TEST_F(NotesTest, ASessionHasAHundredTagsAtMost) {
  Notes::Tags many;
  for (int i = 0; i < 101; ++i) {
    many.push_back("t" + std::to_string(i));
  }
  EXPECT_EQ(notes.change_tags({"claude", "s1"}, {many, {}}, true).error().code, Errc::invalid_argument);
  many.pop_back();
  EXPECT_EQ(notes.change_tags({"claude", "s1"}, {many, {}}, true)->size(), 100U);
}

TEST_F(NotesTest, WithoutAFolderTheyAreKeptInMemory) {
  Notes in_memory("", Disk::real());
  ASSERT_TRUE(in_memory.change_tags({"claude", "s1"}, {{"blue"}, {}}, true));
  EXPECT_THAT(*in_memory.tags(Notes::Key{"claude", "s1"}), ElementsAre("blue"));
}

TEST_F(NotesTest, InMemoryNoTagIsLostEither) {
  constexpr int kWriters = 8;
  constexpr int kTagsEach = 12;
  Notes in_memory("", Disk::real());
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&in_memory, writer] {
      for (int tag = 0; tag < kTagsEach; ++tag) {
        const std::string name = "t" + std::to_string(writer) + "-" + std::to_string(tag);
        EXPECT_TRUE(in_memory.change_tags({"claude", "s1"}, {{name}, {}}, false));
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_EQ(in_memory.tags(Notes::Key{"claude", "s1"})->size(), std::size_t{kWriters} * kTagsEach);
}

TEST_F(NotesTest, InMemoryTooManyAreRefusedToo) {
  Notes in_memory("", Disk::real());
  Notes::Tags many;
  for (std::size_t i = 0; i <= Notes::kMostTags; ++i) {
    many.push_back("t" + std::to_string(i));
  }
  EXPECT_EQ(in_memory.change_tags({"claude", "s1"}, {many, {}}, false).error().code, Errc::invalid_argument);
  EXPECT_THAT(*in_memory.tags(Notes::Key{"claude", "s1"}), IsEmpty());
}

}  // namespace
}  // namespace arborfs
