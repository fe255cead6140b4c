// The smallest format there can be (tests/support/text_format.h) is shown like any other.
#include "tests/support/text_format.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/session/catalog.h"
#include "core/views/session_views.h"
#include "fs/nodes/node_table.h"
#include "fs/nodes/vfs.h"

namespace arborfs {
namespace {

class TextFormatTest : public ::testing::Test {
 protected:
  TextFormatTest() {
    std::string name = (std::filesystem::temp_directory_path() / "arborfs-test-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(root_ / "notes");
  }
  ~TextFormatTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  [[nodiscard]] std::filesystem::path file() const { return root_ / "notes" / "monday.txt"; }
  [[nodiscard]] std::string folder() const { return root_ / "notes"; }

 private:
  std::filesystem::path root_;
};

std::string bytes_of(const SessionPtr& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog) {
  const auto view = make_view(*session, row, item, catalog);
  const auto bytes = view ? view->content->read_all() : Result<std::string>(view.error());
  return bytes ? *bytes : "error: " + bytes.error().message;
}

TEST_F(TextFormatTest, ShowsEntriesTextsAndBranches) {
  std::ofstream(file()) << "A day\nuser: what now?\nassistant: lunch\n";
  Catalog catalog(testing::make_text_store(folder(), Disk::real()), "/home/dev");
  catalog.rescan();
  const auto view = catalog.view();
  ASSERT_EQ(view->by_id.size(), 1U);
  const auto session = view->by_id[0].second;
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_EQ(session->title(), "A day");
  EXPECT_EQ(bytes_of(session, item_views::entry_json, 2, catalog), "assistant: lunch\n");
  EXPECT_EQ(bytes_of(session, item_views::entry_text, 2, catalog), "lunch\n");
  EXPECT_EQ(bytes_of(session, *find_view("transcript.md"), 0, catalog),
            "## user · 1\n\nwhat now?\n\n## assistant · 2\n\nlunch\n\n");
  EXPECT_EQ(bytes_of(session, *find_view("context.json"), 0, catalog), R"({"messages":[)"
                                                                       "\n"
                                                                       R"({"role":"user","content":"what now?"},)"
                                                                       "\n"
                                                                       R"({"role":"assistant","content":"lunch"})"
                                                                       "\n]}\n");
}

TEST_F(TextFormatTest, IsMountedLikeAnyOther) {
  std::ofstream(file()) << "A day\nuser: what now?\nassistant: lunch\n";
  Catalog catalog(testing::make_text_store(folder(), Disk::real()), "/home/dev");
  catalog.rescan();
  Vfs vfs(catalog, true);
  const auto text_of = [&](const std::string& path) {
    auto call = RequestContext::in_pool();
    NodeId node = NodeId::root();
    for (const auto& name : std::filesystem::path(path)) {
      const auto found = vfs.lookup(call, node, name.string());
      node = found ? found->attr.node : node;
      EXPECT_TRUE(found) << path << ": " << name;
    }
    const auto opened = vfs.open(call, node);
    std::string bytes(1 << 12, '\0');
    const auto got = opened ? vfs.read(call, **opened, 0, bytes) : Result<std::size_t>(opened.error());
    return got ? bytes.substr(0, *got) : "error: " + got.error().message;
  };
  const std::string session = "projects/unknown/text-monday/";
  EXPECT_EQ(text_of(session + "title"), "A day\n");
  EXPECT_EQ(text_of(session + "raw.jsonl"), "A day\nuser: what now?\nassistant: lunch\n");
  EXPECT_EQ(text_of(session + "text/000002-assistant-2.md"), "lunch\n");
  EXPECT_NE(text_of(session + "tree.txt").find("what now?"), std::string::npos);
}

TEST_F(TextFormatTest, FollowsAnAppend) {
  std::ofstream(file()) << "A day\nuser: what now?\n";
  Catalog catalog(testing::make_text_store(folder(), Disk::real()), "/home/dev");
  catalog.rescan();
  const auto session = catalog.view()->by_id.at(0).second;
  ASSERT_TRUE(session->refresh(Depth::details));
  const auto generation = session->read()->generation();
  std::ofstream(file(), std::ios::app) << "assistant: lunch\n";
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_EQ(session->read()->generation(), generation);
  EXPECT_EQ(session->read()->leaf(), 2U);
}

}  // namespace
}  // namespace arborfs
