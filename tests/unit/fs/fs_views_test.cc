// The mount shows what the tables say: every view and every control file of a session, without a word about it in fs/.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/formats/omp/store/store.h"
#include "core/write/verbs.h"
#include "fs/nodes/invalidation.h"
#include "fs/nodes/node_table.h"
#include "fs/nodes/vfs.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

class ViewsOfMount : public ::testing::Test {
 protected:
  ViewsOfMount() : catalog(omp::open_store(temp.root()), "/home/dev"), vfs(catalog, false) {
    temp.write(kFolder, kName, TempStore::two_entries());
    catalog.rescan();
  }

  SessionPtr session() { return catalog.view()->by_id.front().second; }
  NodeId folder() {
    auto call = RequestContext::in_pool();
    const auto projects = vfs.lookup(call, NodeId::root(), "projects");
    const auto project = vfs.lookup(call, projects->attr.node, catalog.view()->projects.front()->name);
    return vfs.lookup(call, project->attr.node, kName)->attr.node;
  }
  Result<Found> find(std::string_view name) {
    auto call = RequestContext::in_pool();
    return vfs.lookup(call, folder(), name);
  }
  /// Those that the session has.
  std::vector<std::reference_wrapper<const ViewRow>> views() {
    const auto all = session_views();
    std::vector<std::reference_wrapper<const ViewRow>> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [this](const ViewRow& row) { return has_view(*session(), row); });
    return found;
  }
  std::vector<std::string> listed() {
    auto call = RequestContext::in_pool();
    std::vector<std::string> names;
    const auto dir = vfs.opendir(call, folder());
    const auto done = vfs.readdir(call, **dir, 2, [&](const DirectoryItem& item) {
      names.emplace_back(item.name);
      return true;
    });
    EXPECT_TRUE(done);
    return names;
  }
  std::string text_of(NodeId node) {
    auto call = RequestContext::in_pool();
    const auto file = vfs.open(call, node);
    std::string bytes(1 << 16, '\0');
    const auto got = file ? vfs.read(call, **file, 0, bytes) : Result<std::size_t>(file.error());
    return got ? bytes.substr(0, *got) : "error: " + got.error().message;
  }

  TempStore temp;
  Catalog catalog;
  Vfs vfs;
};

TEST_F(ViewsOfMount, EveryRowIsListedAndFound) {
  const auto names = listed();
  for (const ViewRow& row : views()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), row.name), 1) << row.name;
    const auto found = find(row.name);
    ASSERT_TRUE(found) << row.name;
    EXPECT_EQ(found->attr.type, FileType::file) << row.name;
    EXPECT_EQ(found->attr.node.kind(), kind_of(row)) << row.name;
    EXPECT_EQ(found->attr.ino, stable_ino(xxh64(kName), row.word)) << row.name;
    EXPECT_EQ(found->attr.writable, find_verb(row.name) != nullptr) << row.name;
  }
}

TEST_F(ViewsOfMount, ViewsOfOtherAgentsAreAbsent) {
  const auto names = listed();
  for (const ViewRow& row : session_views()) {
    if (!has_view(*session(), row)) {
      EXPECT_EQ(std::count(names.begin(), names.end(), row.name), 0) << row.name;
      EXPECT_EQ(find(row.name).error().code, Errc::not_found) << row.name;
    }
  }
}

TEST_F(ViewsOfMount, EveryRowOpensWithTheBytesOfItsFunction) {
  for (const ViewRow& row : views()) {
    const auto found = find(row.name);
    ASSERT_TRUE(found) << row.name;
    const std::string text = text_of(found->attr.node);
    ASSERT_TRUE(session()->refresh(row.depth));
    const auto view = make_view(*session(), row, 0, catalog);
    ASSERT_TRUE(view) << row.name;
    EXPECT_EQ(text, *view->content->read_all()) << row.name;
    EXPECT_EQ(found->attr.size, text.size()) << row.name;
  }
}

TEST_F(ViewsOfMount, EveryRowIsInvalidatedByAChange) {
  const InvalidationMap map(vfs.state());
  std::vector<NodeId> nodes;
  for (const ViewRow& row : views()) {
    const auto found = find(row.name);
    nodes.push_back(found ? found->attr.node : NodeId());
  }
  Change change;
  change.kind = Change::Kind::session_touched;
  change.session = session()->number();
  const auto invalidations = map.invalidations_of({change});
  const auto tells = [&](NodeId node, std::string_view name) {
    return std::any_of(invalidations.begin(), invalidations.end(),
                       [&](const Invalidation& forget) { return forget.node == node && forget.name == name; });
  };
  std::size_t at = 0;
  for (const ViewRow& row : views()) {
    EXPECT_TRUE(tells(folder(), row.name)) << row.name;
    EXPECT_EQ(tells(nodes[at++], ""), grows(row)) << row.name;
  }
}

TEST_F(ViewsOfMount, EveryControlFileIsListedAndFound) {
  const auto names = listed();
  const Format& format = session()->format();
  std::size_t shown = 0;
  for (const Verb& verb : all_verbs()) {
    const bool is_control = verb.file == VerbFile::of_session && verb.is_taken_by(format);
    const bool is_view = verb.file == VerbFile::of_view;
    const bool is_shown = is_control || (is_view && verb.is_taken_by(format));
    EXPECT_EQ(std::count(names.begin(), names.end(), verb.name), is_shown ? 1 : 0) << verb.name;
    EXPECT_EQ(find_view(verb.name) != nullptr, is_view) << verb.name;
    if (is_control) {
      const auto found = find(verb.name);
      ASSERT_TRUE(found) << verb.name;
      EXPECT_EQ(found->attr.ino, stable_ino(xxh64(kName), "control", verb.name)) << verb.name;
      EXPECT_TRUE(found->attr.writable) << verb.name;
      ++shown;
    }
  }
  EXPECT_GE(shown, 4U);
}

TEST_F(ViewsOfMount, ListsViewsThenFoldersThenControlFiles) {
  const std::vector<std::string> expected = {"session.json",  "title",    "raw.jsonl",  "leaf",        "context.json",
                                             "transcript.md", "tree.txt", "usage.json", "status.json", "entries",
                                             "text",          "images",   "branches",   "append",      "branch",
                                             "label",         "fork",     "labels"};
  auto names = listed();
  std::erase_if(names, [&](const std::string& name) {
    return std::find(expected.begin(), expected.end(), name) == expected.end();
  });
  EXPECT_EQ(names, expected);
}

/// An update must not give a file another inode number.
TEST(SessionViews, OlderViewsKeepTheWordsOfTheirInodes) {
  const std::vector<std::pair<std::string_view, std::string_view>> older = {
      {"session.json", "session.json"}, {"title", "title"},   {"raw.jsonl", "raw"},    {"context.json", "context"},
      {"transcript.md", "transcript"},  {"tree.txt", "tree"}, {"usage.json", "usage"}, {"status.json", "status"}};
  for (const auto& [name, word] : older) {
    const ViewRow* row = find_view(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_EQ(row->word, word);
  }
}

}  // namespace
}  // namespace arborfs
