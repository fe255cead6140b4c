// Renaming sessions whose title line has any length: an editor may have trimmed its padding or written a longer one.

#include <gtest/gtest.h>

#include <fstream>

#include "core/formats/omp/edit/header_text.h"
#include "core/write/writer.h"
#include "tests/support/sanitized.h"
#include "tests/support/stage.h"

namespace arborfs::omp {
namespace {

using testing::Stage;
using testing::Storage;
using testing::TempStore;

constexpr std::size_t kLongest = 600;
constexpr std::size_t kSlot = 256;
constexpr std::string_view kTitle = "What it is called now";

enum class Line { slot, padded_json, blank };
struct Arrangement {
  const char* name;
  Line line;
  bool header_first;
};

/// A first line of `length` bytes, line feed included; "" if no line of this kind can be that short.
std::string line_of(Line kind, std::size_t length) {
  if (kind == Line::blank) {
    return length == 0 ? "" : std::string(length - 1, ' ') + "\n";
  }
  const std::string type = kind == Line::slot ? "title" : "titel";
  const std::string front = R"({"type":")" + type +
                            R"(","v":1,"title":"First","source":"user","updatedAt":"2026-02-16T10:20:31.000Z","pad":")";
  constexpr std::string_view kEnd = "\"}\n";
  const std::size_t taken = front.size() + kEnd.size();
  return length < taken ? "" : front + std::string(length - taken, ' ') + std::string(kEnd);
}

class TitleSlotTest : public ::testing::TestWithParam<Arrangement> {
 protected:
  static WriteSettings settings() {
    WriteSettings settings;
    settings.durability = Durability::none;
    return settings;
  }
  /// A log with this first (or second) line.
  static std::string log_with(const std::string& line, bool header_first) {
    const std::string header = TempStore::header("s1", "/work/pi") + "\n";
    return (header_first ? header + line : line + header) + TempStore::user("aaaa0001", "", "one") + "\n{torn";
  }
};

INSTANTIATE_TEST_SUITE_P(Lines, TitleSlotTest,
                         ::testing::Values(Arrangement{"Slot", Line::slot, false},
                                           Arrangement{"SlotBehindHeader", Line::slot, true},
                                           Arrangement{"NoSlot", Line::padded_json, false},
                                           Arrangement{"NoSlotBehindHeader", Line::padded_json, true},
                                           Arrangement{"Blank", Line::blank, false},
                                           Arrangement{"BlankBehindHeader", Line::blank, true}),
                         [](const auto& with) { return with.param.name; });

/// A slot is replaced by one of 256 bytes; without a slot only the header changes.
std::string renamed(const std::string& before, std::size_t slot, const std::string& after) {
  if (slot != 0) {
    return after.substr(0, kSlot) + before.substr(slot);
  }
  const std::string old_end = R"("cwd":"/work/pi"})";
  std::string wanted = before;
  wanted.replace(wanted.find(old_end), old_end.size(), R"("cwd":"/work/pi","title":")" + std::string(kTitle) + "\"}");
  return wanted;
}

TEST_P(TitleSlotTest, TitleLineOfAnyLengthPreservesOtherBytes) {
  const auto [name, kind, header_first] = GetParam();
  for (std::size_t length = 0; length <= kLongest; length += testing::kSanitizedShare) {
    const std::string line = line_of(kind, length);
    if (line.size() != length || (line.empty() && kind != Line::blank)) {
      continue;
    }
    SCOPED_TRACE(length);
    Stage stage(Storage::files, Disk::real(), settings());
    const std::string before = log_with(line, header_first);
    const auto session = stage.add("2026-02-16T10-20-30-000Z_s1", before);
    const auto done = stage.writer().set_title(session, kTitle);
    const std::string after = stage.bytes(session);
    if (kind == Line::padded_json && !header_first) {
      ASSERT_EQ(done.error().code, Errc::read_only);
      ASSERT_EQ(after, before);
      continue;
    }
    ASSERT_TRUE(done) << done.error().message;
    const bool has_slot = kind == Line::slot && !header_first;
    const std::string wanted = renamed(before, has_slot ? length : 0, after);
    ASSERT_TRUE(after.starts_with(wanted)) << after;
    ASSERT_EQ(after.size() > wanted.size(), has_slot);
    ASSERT_TRUE(!has_slot || Stage::field(after.substr(0, kSlot), "title") == kTitle) << after;
    const Header header = session->head().header;
    ASSERT_TRUE(header.valid);
    ASSERT_EQ(header.title, kTitle);
    ASSERT_EQ(header.cwd, "/work/pi");
  }
}

TEST(TitleSlotOfVersion1Test, IsWrittenWithTheMigration) {
  Stage stage(Storage::files);
  const auto session =
      stage.add("2026-02-16T10-20-30-000Z_s1",
                title_slot_line("First", "user", 1771237231000) +
                    R"({"type":"session","id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work/pi"})"
                    "\n" +
                    TempStore::user("aaaa0001", "", "one") + "\n");
  ASSERT_TRUE(stage.writer().set_title(session, kTitle));
  EXPECT_EQ(session->title(), kTitle);
  EXPECT_EQ(Stage::field(stage.bytes(session).substr(0, kSlot), "title"), kTitle);
}

TEST(TitleSlotWithBomTest, LosesTheByteOrderMark) {
  Stage stage(Storage::files);
  const std::string rest = TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n";
  const auto session =
      stage.add("2026-02-16T10-20-30-000Z_s1", "\xEF\xBB\xBF" + title_slot_line("First", "user", 1771237231000) + rest);
  ASSERT_TRUE(stage.writer().set_title(session, kTitle));
  const std::string after = stage.bytes(session);
  EXPECT_EQ(after.substr(kSlot, rest.size()), rest);
  EXPECT_EQ(session->head().header.cwd, "/work/pi");
}

TEST(UnchangedTitle, IsNotWrittenAgain) {
  for (const bool has_slot : {false, true}) {
    Stage stage(Storage::files);
    const std::string lines =
        TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n";
    const auto session = stage.add("2026-02-16T10-20-30-000Z_s1",
                                   (has_slot ? title_slot_line("First", "user", 1771237231000) : "") + lines);
    ASSERT_TRUE(stage.writer().set_title(session, kTitle));
    const std::string before = stage.bytes(session);
    const auto stat = stage.store().stat(session->place());
    const auto again = stage.writer().set_title(session, " " + std::string(kTitle) + "\n");
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, kTitle);
    EXPECT_EQ(stage.bytes(session), before);
    EXPECT_TRUE(*stage.store().stat(session->place()) == *stat);
  }
}

}  // namespace
}  // namespace arborfs::omp
