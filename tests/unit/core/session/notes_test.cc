// Tags, titles and labels of sessions: what the file of notes has, who may change it at once, and what stays in it.
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
#include "core/os/temp_file.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Label = Noted::EntryLabel;

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
  EXPECT_THAT(notes.change_tags({"claude", "s1"}, {{"green", "blue"}, {}}, true)->tags, ElementsAre("blue", "green"));
  EXPECT_THAT(notes.change_tags({"claude", "s1"}, {{"red"}, {"green", "absent"}}, true)->tags,
              ElementsAre("blue", "red"));
  EXPECT_THAT(notes.change_tags({"claude", "s2"}, {{"red"}, {}}, true)->tags, ElementsAre("red"));
  EXPECT_THAT((*notes.of({"claude", "s1"}))->tags, ElementsAre("blue", "red"));
  EXPECT_THAT((*notes.of({"claude", "s3"}))->tags, IsEmpty());
  EXPECT_THAT((*notes.of({"codex", "s1"}))->tags, IsEmpty());
  EXPECT_THAT(notes.change_tags({"claude", "s1"}, {{"new", "new"}, {}, true}, true)->tags, ElementsAre("new"));
  EXPECT_EQ(bytes(), "{\"session\":\"s1\",\"tags\":[\"new\"]}\n{\"session\":\"s2\",\"tags\":[\"red\"]}\n");
}

TEST_F(NotesTest, AnotherObjectSeesChangesAtOnce) {
  const Notes other(folder(), Disk::real());
  EXPECT_THAT((*other.of({"claude", "s1"}))->tags, IsEmpty());
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{"blue"}, {}}, true));
  EXPECT_THAT((*other.of({"claude", "s1"}))->tags, ElementsAre("blue"));
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{}, {"blue"}}, true));
  EXPECT_THAT((*other.of({"claude", "s1"}))->tags, IsEmpty());
}

TEST_F(NotesTest, WhatAKilledProcessHadBegunGoes) {
  write("");
  const std::string left = folder() + "/" + temporary_name();
  std::ofstream(left) << "half";
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{"blue"}, {}}, true));
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(NotesTest, WhatThisVersionDoesNotKnowStays) {
  write("not JSON\n{\"session\":\"s1\",\"later\":{\"a\":1},\"tags\":[\"old\",7,\"b/ad\"]}\n{\"other\":true}\n");
  EXPECT_THAT((*notes.of({"claude", "s1"}))->tags, ElementsAre("old"));
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

TEST_F(NotesTest, NothingIsLostWhereAHundredChangeNotesAtOnce) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 100; ++writer) {
    writers.emplace_back([this, writer] {
      Notes own(folder(), Disk::real());
      const std::string name = "t" + std::to_string(writer);
      const auto done = writer % 2 == 0 ? own.change_tags({"claude", "s1"}, {{name}, {}}, false)
                                        : own.set_labels({"claude", "s1"}, {{name, "label"}}, false);
      EXPECT_TRUE(done) << done.error().message;
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  const auto noted = *notes.of({"claude", "s1"});
  EXPECT_EQ(noted->tags.size(), 50U);
  EXPECT_EQ(noted->labels.size(), 50U);
}

TEST_F(NotesTest, ATitleAndLabelsStandBesideTags) {
  ASSERT_TRUE(notes.change_tags({"claude", "s1"}, {{"blue"}, {}}, true));
  ASSERT_TRUE(notes.set_title({"claude", "s1"}, "Kites", true));
  ASSERT_TRUE(notes.set_labels({"claude", "s1"}, {{"e1", "start"}, {"e2", "wrong turn"}}, true));
  EXPECT_EQ(bytes(), R"({"session":"s1","tags":["blue"],"title":"Kites","labels":{"e1":"start","e2":"wrong turn"}})"
                     "\n");
  const auto noted = *notes.of({"claude", "s1"});
  EXPECT_EQ(noted->title, "Kites");
  EXPECT_THAT(noted->labels, ElementsAre(Label{"e1", "start"}, Label{"e2", "wrong turn"}));
  EXPECT_EQ(noted_json(*noted), R"({"tags":["blue"],"title":"Kites","labels":{"e1":"start","e2":"wrong turn"}})");
  EXPECT_EQ(noted_json(Noted()), "");
}

TEST_F(NotesTest, ALabelThatIsSetAgainIsTheNewest) {
  ASSERT_TRUE(notes.set_labels({"claude", "s1"}, {{"e1", "a"}, {"e2", "b"}, {"e3", "c"}}, true));
  EXPECT_THAT(notes.set_labels({"claude", "s1"}, {{"e1", "z"}, {"e2", ""}, {"absent", ""}}, true)->labels,
              ElementsAre(Label{"e3", "c"}, Label{"e1", "z"}));
  EXPECT_THAT((*notes.of({"claude", "s1"}))->labels, ElementsAre(Label{"e3", "c"}, Label{"e1", "z"}));
  EXPECT_EQ(notes.set_title({"claude", "s1"}, "", true)->title, "");
}

TEST_F(NotesTest, LabelsThatNobodyCouldReadAreRefused) {
  EXPECT_EQ(notes.set_labels({"claude", "s1"}, {{"e1", "\xff"}}, true).error().code, Errc::not_utf8);
  EXPECT_EQ(notes.set_labels({"claude", "s1"}, {{"e1", std::string(4097, 'a')}}, true).error().code, Errc::too_large);
  std::vector<Label> many;
  for (std::size_t i = 0; i <= Notes::kMostLabels; ++i) {
    many.push_back({"e" + std::to_string(i), "x"});
  }
  EXPECT_EQ(notes.set_labels({"claude", "s1"}, many, true).error().code, Errc::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(NotesTest, LabelsOfLaterVersionsStay) {
  write(R"({"session":"s1","labels":{"e1":{"color":1},"e2":"b","e\u0033":"c"}})"
        "\n");
  EXPECT_THAT((*notes.of({"claude", "s1"}))->labels, ElementsAre(Label{"e2", "b"}, Label{"e3", "c"}));
  ASSERT_TRUE(notes.set_labels({"claude", "s1"}, {{"e4", "d\"\n"}}, true));
  EXPECT_EQ(bytes(), R"({"session":"s1","labels":{"e1":{"color":1},"e2":"b","e3":"c","e4":"d\"\n"}})"
                     "\n");
}

TEST_F(NotesTest, LinesOfOneSessionBecomeOneWhereTheyChange) {
  write(R"({"session":"s1","title":"Old","labels":{"e1":"a"}})"
        "\n"
        R"({"session":"s1","title":"New","tags":["t"],"labels":{"e1":"b"}})"
        "\n");
  EXPECT_EQ((*notes.of({"claude", "s1"}))->title, "New");
  ASSERT_TRUE(notes.set_labels({"claude", "s1"}, {{"e2", "c"}}, true));
  EXPECT_EQ(bytes(), R"({"session":"s1","title":"New","labels":{"e1":"b","e2":"c"},"tags":["t"]})"
                     "\n"
                     R"({"session":"s1","title":"","tags":[],"labels":{}})"
                     "\n");
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
  EXPECT_FALSE(notes.of_agent("claude"));
  EXPECT_FALSE(notes.change_tags({"claude", "s1"}, {{"b"}, {}}, true));
}

TEST_F(NotesTest, LinesOfOneSessionCountTogether) {
  write("{\"session\":\"s1\",\"tags\":[\"a\"]} \r\n{\"session\":\"s1\",\"x\":1,\"tags\":[\"b\"]}\n");
  EXPECT_THAT((*notes.of({"claude", "s1"}))->tags, ElementsAre("a", "b"));
  EXPECT_THAT(notes.change_tags({"claude", "s1"}, {{}, {"a"}}, true)->tags, ElementsAre("b"));
  EXPECT_THAT(bytes(), ::testing::HasSubstr("\"x\":1"));
}

TEST_F(NotesTest, ASessionHasAHundredTagsAtMost) {
  Notes::Tags many;
  for (int i = 0; i < 101; ++i) {
    many.push_back("t" + std::to_string(i));
  }
  EXPECT_EQ(notes.change_tags({"claude", "s1"}, {many, {}}, true).error().code, Errc::invalid_argument);
  many.pop_back();
  EXPECT_EQ(notes.change_tags({"claude", "s1"}, {many, {}}, true)->tags.size(), 100U);
}

TEST_F(NotesTest, WithoutAFolderTheyAreKeptInMemory) {
  Notes in_memory("", Disk::real());
  ASSERT_TRUE(in_memory.change_tags({"claude", "s1"}, {{"blue"}, {}}, true));
  EXPECT_THAT((*in_memory.of({"claude", "s1"}))->tags, ElementsAre("blue"));
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
  EXPECT_EQ((*in_memory.of({"claude", "s1"}))->tags.size(), std::size_t{kWriters} * kTagsEach);
}

TEST_F(NotesTest, InMemoryTooManyAreRefusedToo) {
  Notes in_memory("", Disk::real());
  Notes::Tags many;
  for (std::size_t i = 0; i <= Notes::kMostTags; ++i) {
    many.push_back("t" + std::to_string(i));
  }
  EXPECT_EQ(in_memory.change_tags({"claude", "s1"}, {many, {}}, false).error().code, Errc::invalid_argument);
  EXPECT_THAT((*in_memory.of({"claude", "s1"}))->tags, IsEmpty());
}

}  // namespace
}  // namespace arborfs
