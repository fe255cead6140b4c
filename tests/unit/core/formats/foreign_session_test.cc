// Sessions of an agent whose logs are rewritten whole: Opal's, from a folder on the disk.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/formats/opal/format.h"
#include "core/session/catalog.h"
#include "core/session/session_name.h"
#include "core/views/session_views.h"

namespace arborfs {
namespace {

std::string line_of(const std::string& id, const std::string& parent, const std::string& content) {
  return R"({"content":")" + content + R"(","id":")" + id + R"(","is_error":false,"parent_id":)" +
         (parent.empty() ? "null" : '"' + parent + '"') +
         R"(,"role":"user"})"
         "\n";
}

std::string header_of(const std::string& current) {
  return R"({"current_id":")" + current +
         R"(","metadata":{"title":"A title"},"session_id":"s1"})"
         "\n";
}

class ForeignSessionTest : public ::testing::Test {
 protected:
  ForeignSessionTest() {
    std::string name = (std::filesystem::temp_directory_path() / "arborfs-test-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(root_ / "sessions");
    catalog_ = std::make_unique<Catalog>(opal::make_store(root_.string(), Disk::real()), "/home/dev");
  }
  ~ForeignSessionTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  /// In place, as Opal does.
  void write(const std::string& bytes) const {
    std::ofstream(root_ / "sessions" / "s1.jsonl", std::ios::binary) << bytes;
  }
  void set_time(std::filesystem::file_time_type time) const {
    std::filesystem::last_write_time(root_ / "sessions" / "s1.jsonl", time);
  }
  SessionPtr only() {
    catalog_->rescan();
    const auto view = catalog_->view();
    return view->by_id.size() == 1 ? view->by_id.front().second : nullptr;
  }
  std::string bytes(const SessionPtr& session, const ViewRow& row, std::uint32_t item = 0) {
    const auto view = make_view(*session, row, item, *catalog_);
    const auto read = view ? view->content->read_all() : Result<std::string>(view.error());
    return read ? *read : "error: " + read.error().message;
  }
  [[nodiscard]] Catalog& catalog() const { return *catalog_; }

 private:
  std::filesystem::path root_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(ForeignSessionTest, ViewsFollowTheFormat) {
  const std::string first = line_of("a", "", "first");
  const std::string second = line_of("b", "a", "second");
  write(header_of("b") + second + first);
  const auto session = only();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->title(), "A title");
  EXPECT_EQ(opening_words(*session, 40).text, "first");
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_EQ(bytes(session, item_views::entry_json, 1), first);
  EXPECT_EQ(bytes(session, item_views::entry_text, 2), "second\n");
  EXPECT_EQ(bytes(session, *find_view("transcript.md")), "## user · a\n\nfirst\n\n## user · b\n\nsecond\n\n");
  EXPECT_EQ(bytes(session, *find_view("context.json")), "{\"messages\":[\n" + first.substr(0, first.size() - 1) +
                                                            ",\n" + second.substr(0, second.size() - 1) + "\n]}\n");
  EXPECT_EQ(bytes(session, *find_view("usage.json")), "{}\n");
  EXPECT_NE(bytes(session, *find_view("tree.txt")).find("second"), std::string::npos);
}

TEST_F(ForeignSessionTest, RewriteThatAddsAMessageKeepsTheGeneration) {
  write(header_of("b") + line_of("b", "a", "second") + line_of("a", "", "first"));
  const auto session = only();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->refresh(Depth::details));
  const auto before = session->read()->generation();
  const auto seen = catalog().feed().last_sequence();
  const auto branch = bytes(session, item_views::branch_transcript, 2);
  write(header_of("c") + line_of("a", "", "first") + line_of("c", "b", "third") + line_of("b", "a", "second"));
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_EQ(session->read()->generation(), before);
  const auto changes = catalog().feed().after(seen, 10);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].kind, Change::Kind::session_appended);
  EXPECT_EQ(changes[0].first, 3U);
  EXPECT_EQ(bytes(session, item_views::entry_text, 1), "first\n");
  EXPECT_EQ(bytes(session, item_views::entry_text, 3), "third\n");
  EXPECT_EQ(bytes(session, item_views::branch_transcript, 2), branch);
}

TEST_F(ForeignSessionTest, UnchangedLongLogThatIsYoungKeepsItsBytes) {
  const std::string longer_than_is_hashed_whole(20'000, 'x');
  // While that is ahead, no look at the log can rely on its time.
  const auto soon = std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1);
  write(header_of("a") + line_of("a", "", longer_than_is_hashed_whole));
  set_time(soon);
  const auto session = only();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->refresh(Depth::details));
  const auto before = session->raw();
  ASSERT_TRUE(before);
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_EQ(session->raw()->bytes, before->bytes) << "open files of it would be stale";
  EXPECT_EQ(session->raw()->generation, before->generation);
  write(header_of("a") + line_of("a", "", "y" + longer_than_is_hashed_whole.substr(1)));
  set_time(soon);
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_NE(session->raw()->bytes, before->bytes);
}

TEST_F(ForeignSessionTest, RewriteThatChangesAMessageBeginsAGeneration) {
  write(header_of("b") + line_of("b", "a", "second") + line_of("a", "", "first"));
  const auto session = only();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->refresh(Depth::details));
  const auto before = session->read()->generation();
  write(header_of("b") + line_of("b", "a", "second") + line_of("a", "", "other"));
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_NE(session->read()->generation(), before);
  EXPECT_EQ(bytes(session, item_views::entry_text, 1), "other\n");
}

TEST_F(ForeignSessionTest, MovedPointerMovesTheLeaf) {
  write(header_of("b") + line_of("b", "a", "second") + line_of("a", "", "first"));
  const auto session = only();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->refresh(Depth::details));
  write(header_of("a") + line_of("b", "a", "second") + line_of("a", "", "first"));
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_EQ(session->read()->leaf(), 1U);
  EXPECT_EQ(bytes(session, *find_view("transcript.md")), "## user · a\n\nfirst\n\n");
}

}  // namespace
}  // namespace arborfs
