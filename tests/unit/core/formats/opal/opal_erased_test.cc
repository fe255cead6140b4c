// Messages that arborfs appended to a session of Opal, and that a save of a running Opal leaves out (CONTRACT.md 6.10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/doctor/examine.h"
#include "core/formats/opal/format.h"
#include "core/formats/opal/writer.h"
#include "core/views/session_facts.h"
#include "core/write/trash.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kBefore = R"({"current_id":"a1","session_id":"feed","metadata":{}})"
                            "\n"
                            R"({"id":"a1","parent_id":null,"role":"user","content":"one","is_error":false})"
                            "\n";

class OpalErased : public ::testing::Test {
 protected:
  OpalErased() {
    fs::create_directories(base_ + "/sessions");
    save(kBefore);
    catalog_.rescan();
  }
  /// In place, as Opal does.
  void save(const std::string& bytes) const { std::ofstream(log_, std::ios::binary) << bytes; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(log_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] SessionPtr session() { return catalog_.at({"sessions", "feed.jsonl"}); }
  [[nodiscard]] std::vector<std::string> erased() {
    EXPECT_TRUE(session()->refresh(Depth::index));
    return session_status(*session(), catalog_).erased_entries;
  }
  std::string append(const std::string& text) {
    const auto written = writer_.append_text(session(), {text, false, ""});
    EXPECT_TRUE(written) << written.error().message;
    return written ? written->id : "";
  }

  testing::TempStore temp_;
  const std::string base_ = temp_.root() + "/opal";
  const std::string log_ = base_ + "/sessions/feed.jsonl";
  Catalog catalog_{opal::make_store(base_, Disk::real()), "/home/nobody", temp_.root() + "/state"};
  const WriteSettings settings_ = [this] {
    WriteSettings settings;
    settings.allow_delete = true;
    settings.trash = temp_.root() + "/trash";
    return settings;
  }();
  opal::Writer writer_{catalog_, settings_};
};

TEST_F(OpalErased, AppendedMessagesAreProtectedAgainAfterTheSessionIsRestored) {
  const std::string id = append("mine");
  ASSERT_TRUE(writer_.remove(session()));
  const auto removed = Trash(settings_.trash).list();
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_THAT(Trash(settings_.trash).written_to(removed.front()), HasSubstr(id));
}

TEST_F(OpalErased, MessagesThatASaveLeavesOutAreReportedAndPutBack) {
  const std::string first = append("mine");
  const std::string second = append("mine too");
  EXPECT_THAT(erased(), IsEmpty());
  const std::string with = bytes();
  const std::string lines = with.substr(with.find("{\"id\":\"" + first));
  save(kBefore);
  EXPECT_THAT(erased(), ElementsAre(first, second));
  const auto found = find_faults(*session(), catalog_);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, "erased_entries");
  const auto back = writer_.put_back_erased(session());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, 2U);
  EXPECT_EQ(bytes(), kBefore + lines) << "the leaf stays";
  EXPECT_THAT(erased(), IsEmpty());
  EXPECT_THAT(find_faults(*session(), catalog_), IsEmpty());
  save(kBefore);
  EXPECT_THAT(erased(), ElementsAre(first, second)) << "they are watched again";
}

TEST_F(OpalErased, AnAppendAfterTheSaveStillReportsThem) {
  const std::string first = append("mine");
  save(kBefore);
  const std::string next = append("the next one");
  EXPECT_THAT(erased(), ElementsAre(first));
  EXPECT_THAT(bytes(), HasSubstr(next));
}

TEST_F(OpalErased, SavesThatKeepThemAndReplacedMessagesEraseNothing) {
  const std::string first = append("mine");
  save(bytes() + R"({"id":"b2","parent_id":"a1","role":"user","content":"theirs","is_error":false})" + "\n");
  EXPECT_THAT(erased(), IsEmpty());
  const auto replaced = writer_.replace(session(), {first, first, {R"({"role":"user","content":"another"})"}}, false);
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_THAT(bytes(), Not(HasSubstr("mine")));
  EXPECT_THAT(erased(), IsEmpty());
  session()->forget_look();
  save(bytes() + "\n");
  EXPECT_THAT(erased(), IsEmpty()) << "arborfs itself removed it";
}

}  // namespace
}  // namespace arborfs
