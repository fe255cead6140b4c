// The file system without a kernel: names, nodes, listings and open files over a real folder (CONTRACT.md 2, 3, 7).
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "core/formats/omp/store/store.h"
#include "fs/nodes/invalidation.h"
#include "fs/nodes/vfs.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";
constexpr char kSession[] = "projects/work-pi/2026-02-16T10-20-30-000Z_aaaa000011112222";

std::string lines(std::initializer_list<std::string> entries) {
  std::string text = TempStore::header("aaaa000011112222", "/work/pi") + "\n";
  for (const auto& entry : entries) {
    text += entry + "\n";
  }
  return text;
}

std::string label(const std::string& id, const std::string& parent, const std::string& target,
                  const std::string& text) {
  return R"({"type":"label","id":")" + id + R"(","parentId":")" + parent +
         R"(","timestamp":"2026-02-16T10:20:32.000Z","targetId":")" + target + R"(","label":")" + text + R"("})";
}

class VfsTest : public ::testing::Test {
 protected:
  VfsTest() : catalog(omp::open_store(temp.root()), "/home/dev"), vfs(catalog, false) {
    temp.write(kFolder, kName,
               lines({TempStore::user("e1aaaaaa", "", "one"), TempStore::user("e2aaaaaa", "e1aaaaaa", "two")}));
    catalog.rescan();
  }

  /// Changes by other processes become visible a little later (mount_state.h).
  static void let_time_pass() { std::this_thread::sleep_for(std::chrono::milliseconds(15)); }
  void append(const std::string& line) {
    temp.append(kFolder, kName, line + "\n");
    let_time_pass();
  }

  Result<Found> find(const std::string& path) {
    auto call = RequestContext::in_pool();
    Found found{{NodeId::root(), 1, FileType::directory, CacheTtl::moment, 0, 0}, CacheTtl::moment};
    std::istringstream names(path);
    for (std::string name; std::getline(names, name, '/');) {
      auto next = vfs.lookup(call, found.attr.node, name);
      if (!next) {
        return next;
      }
      found = *next;
    }
    return found;
  }
  Result<Found> in_session(const std::string& path) { return find(std::string(kSession) + "/" + path); }

  std::string read(OpenFile& file, std::uint64_t offset = 0) {
    std::string bytes(1 << 16, '\0');
    auto call = RequestContext::in_pool();
    const auto got = vfs.read(call, file, offset, bytes);
    return got ? bytes.substr(0, *got) : "error: " + got.error().message;
  }
  OpenFilePtr open(const Found& found) {
    auto call = RequestContext::in_pool();
    auto file = vfs.open(call, found.attr.node);
    return file ? *file : nullptr;
  }
  /// Looks the name up again if its node has become stale, as the kernel does.
  std::string text_of(const std::string& path) {
    for (int i = 0; i < 20; ++i) {
      const auto found = in_session(path);
      if (!found && found.error().code == Errc::not_found) {
        return "absent";
      }
      const auto file = found ? open(*found) : nullptr;
      std::string text = file ? read(*file) : "error:";
      if (!text.starts_with("error:")) {
        return text;
      }
    }
    return "stale for ever";
  }
  std::string target_of(const std::string& path) {
    const auto found = in_session(path);
    auto call = RequestContext::in_pool();
    return found ? *vfs.readlink(call, found->attr.node) : "absent";
  }
  std::vector<std::string> list(const std::string& path, std::size_t at_once = 1000) {
    auto call = RequestContext::in_pool();
    auto dir = vfs.opendir(call, find(path)->attr.node);
    std::vector<std::string> names;
    for (std::uint64_t offset = 0;;) {
      const std::size_t before = names.size();
      std::size_t room = at_once;
      const auto done = vfs.readdir(call, **dir, offset, [&](const DirectoryItem& item) {
        if (room == 0) {
          return false;
        }
        --room;
        names.emplace_back(item.name);
        offset = item.next;
        return true;
      });
      if (!done || names.size() == before) {
        return names;
      }
    }
  }

  TempStore temp;
  Catalog catalog;
  Vfs vfs;
};

TEST_F(VfsTest, RootListsItsNames) {
  const std::vector<std::string> expected = {
      ".",        "..",   "README.md", "index.html", "status.json", "operations", "new",     "projects",  "by-id",
      "by-agent", "tags", "recent",    "by-file",    "search",      "stats",      "history", "terminals", "blobs"};
  EXPECT_EQ(list(""), expected);
  RequestContext call;
  EXPECT_TRUE(vfs.lookup(call, NodeId::root(), "events")) << "in no listing, because a read of it has no end";
}

TEST_F(VfsTest, ReadOnlyMountHasNoEventsOrControlFiles) {
  Vfs read_only(catalog, true);
  RequestContext call;
  EXPECT_EQ(read_only.lookup(call, NodeId::root(), "events").error().code, Errc::not_found);
  EXPECT_EQ(read_only.lookup(call, NodeId::root(), "new").error().code, Errc::not_found);
}

TEST_F(VfsTest, EntryFilesHaveTheBytesOfTheLog) {
  const auto found = in_session("entries/000001-user-e1aaaaaa.json");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(read(*open(*found)), TempStore::user("e1aaaaaa", "", "one") + "\n");
  EXPECT_EQ(found->attr.size, TempStore::user("e1aaaaaa", "", "one").size() + 1);
  EXPECT_EQ(found->attr.life, CacheTtl::forever);
  EXPECT_EQ(found->name_life, CacheTtl::forever);
}

TEST_F(VfsTest, EntryNamesResolveToOneNode) {
  const auto full = in_session("entries/000002-user-e2aaaaaa.json");
  for (const char* name : {"2.json", "000002.json", "e2aaaaaa.json", "e2aa.json"}) {
    const auto other = in_session(std::string("entries/") + name);
    ASSERT_TRUE(other) << name;
    EXPECT_EQ(other->attr.node, full->attr.node) << name;
    EXPECT_EQ(other->attr.ino, full->attr.ino) << name;
    EXPECT_EQ(other->name_life, CacheTtl::moment) << name;
  }
  for (const char* name :
       {"3.json", "000001-user-e2aaaaaa.json", "2.md", "2", ".json", "000002-assistant-e2aaaaaa.json"}) {
    EXPECT_FALSE(in_session(std::string("entries/") + name)) << name;
  }
}

TEST_F(VfsTest, ListingsGiveEachNameOnceForAnyBufferSize) {
  for (int i = 3; i < 40; ++i) {
    append(TempStore::user("x" + std::to_string(i), "e2aaaaaa", "more"));
  }
  for (const char* folder : {"entries", "text", "branches", "branches/000002-e2aaaaaa/entries"}) {
    const std::string path = std::string(kSession) + "/" + folder;
    const auto all = list(path);
    EXPECT_EQ(all.size(), std::set<std::string>(all.begin(), all.end()).size()) << folder;
    for (const std::size_t at_once : {1U, 2U, 3U, 7U}) {
      EXPECT_EQ(list(path, at_once), all) << folder << " by " << at_once;
    }
  }
  EXPECT_EQ(list(std::string(kSession) + "/entries").size(), 39U + 2U);
}

TEST_F(VfsTest, ListingIsASnapshotUntilRewind) {
  auto call = RequestContext::in_pool();
  const auto dir = *vfs.opendir(call, in_session("entries")->attr.node);
  std::size_t seen = 0;
  const auto count = [&](const DirectoryItem&) { return ++seen > 0; };
  ASSERT_TRUE(vfs.readdir(call, *dir, 0, count));
  EXPECT_EQ(seen, 4U);
  append(TempStore::user("e3aaaaaa", "e2aaaaaa", "three"));
  auto later = RequestContext::in_pool();
  seen = 0;
  ASSERT_TRUE(vfs.readdir(later, *dir, 4, count));
  EXPECT_EQ(seen, 0U) << "no more than the snapshot had";
  ASSERT_TRUE(vfs.readdir(later, *dir, 0, count));
  EXPECT_EQ(seen, 5U) << "a rewind lists afresh";
}

TEST_F(VfsTest, CachedListingIsValidForOneVersion) {
  const NodeId entries = in_session("entries")->attr.node;
  auto call = RequestContext::in_pool();
  EXPECT_FALSE((*vfs.opendir(call, entries))->keeps_cache());
  EXPECT_TRUE((*vfs.opendir(call, entries))->keeps_cache());
  append(TempStore::user("e3aaaaaa", "e2aaaaaa", "three"));
  auto later = RequestContext::in_pool();
  EXPECT_FALSE((*vfs.opendir(later, entries))->keeps_cache());
}

TEST_F(VfsTest, AppendGivesChangedViewsNewNodes) {
  const auto context = in_session("context.json");
  const auto entry = in_session("entries/1.json");
  const auto transcript = in_session("transcript.md");
  append(TempStore::user("e3aaaaaa", "e2aaaaaa", "three"));
  EXPECT_NE(in_session("context.json")->attr.node, context->attr.node);
  EXPECT_EQ(in_session("entries/1.json")->attr.node, entry->attr.node);
  EXPECT_EQ(in_session("transcript.md")->attr.node, transcript->attr.node) << "it only grew";
  EXPECT_GT(in_session("transcript.md")->attr.size, transcript->attr.size);
  EXPECT_EQ(in_session("context.json")->attr.ino, context->attr.ino);
}

TEST_F(VfsTest, LeafOnAnotherPathGivesANewTranscriptNode) {
  const auto transcript = in_session("transcript.md");
  append(TempStore::user("e3aaaaaa", "e1aaaaaa", "beside"));
  EXPECT_NE(in_session("transcript.md")->attr.node, transcript->attr.node);
}

TEST_F(VfsTest, OpenRawLogGrowsWhileOtherHandlesKeepTheirState) {
  const auto context = open(*in_session("context.json"));
  const auto raw = open(*in_session("raw.jsonl"));
  const std::string context_before = read(*context);
  const std::string raw_before = read(*raw);
  append(TempStore::user("e3aaaaaa", "e2aaaaaa", "three"));
  EXPECT_EQ(read(*context), context_before);
  EXPECT_EQ(read(*raw, raw_before.size()), TempStore::user("e3aaaaaa", "e2aaaaaa", "three") + "\n");
}

TEST_F(VfsTest, RewriteMakesNodesStaleButNotHandles) {
  const auto entry = *in_session("entries/000002-user-e2aaaaaa.json");
  const auto file = open(entry);
  const auto raw = open(*in_session("raw.jsonl"));
  const std::string raw_before = read(*raw);
  temp.replace(kFolder, kName, lines({TempStore::user("zzzzzzzz", "", "other")}));
  let_time_pass();
  EXPECT_EQ(read(*file), TempStore::user("e2aaaaaa", "e1aaaaaa", "two") + "\n");
  EXPECT_EQ(read(*raw), raw_before);
  auto call = RequestContext::in_pool();
  EXPECT_EQ(vfs.getattr(call, entry.attr.node)->size, entry.attr.size) << "an open file has its attributes";
  EXPECT_EQ(vfs.open(call, entry.attr.node).error().code, Errc::stale);
  EXPECT_FALSE(in_session("entries/000002-user-e2aaaaaa.json"));
  EXPECT_EQ(text_of("entries/1.json"), TempStore::user("zzzzzzzz", "", "other") + "\n");
}

TEST_F(VfsTest, BytesChangedInPlaceAreNotServed) {
  const auto file = open(*in_session("entries/000002-user-e2aaaaaa.json"));
  let_time_pass();
  temp.write(kFolder, kName, lines({TempStore::user("yyyyyyyy", "", "1234567890")}));
  let_time_pass();
  EXPECT_EQ(read(*file).substr(0, 6), "error:");
}

TEST_F(VfsTest, HeaderAndRawFilesNeedNoIndex) {
  const auto session = catalog.view()->by_id.front().second;
  EXPECT_EQ(text_of("raw.jsonl"),
            lines({TempStore::user("e1aaaaaa", "", "one"), TempStore::user("e2aaaaaa", "e1aaaaaa", "two")}));
  EXPECT_NE(text_of("session.json").find("/work/pi"), std::string::npos);
  EXPECT_EQ(text_of("title"), "");
  EXPECT_FALSE(session->read());
  const auto node = in_session("raw.jsonl")->attr.node;
  auto call = RequestContext::in_pool();
  ASSERT_TRUE(vfs.opendir(call, in_session("entries")->attr.node));
  EXPECT_TRUE(session->read());
  EXPECT_EQ(in_session("raw.jsonl")->attr.node, node) << "the index tells nothing new of the bytes";
}

TEST_F(VfsTest, UnindexedRawLogKeepsItsHandles) {
  const auto raw = *in_session("raw.jsonl");
  const auto file = open(raw);
  const std::string before = read(*file);
  append(TempStore::user("e3aaaaaa", "e2aaaaaa", "three"));
  EXPECT_EQ(read(*file, before.size()), TempStore::user("e3aaaaaa", "e2aaaaaa", "three") + "\n");
  EXPECT_EQ(in_session("raw.jsonl")->attr.node, raw.attr.node);
  const std::string longer = read(*file);
  temp.replace(kFolder, kName, lines({TempStore::user("zzzzzzzz", "", "other")}));
  let_time_pass();
  EXPECT_EQ(read(*file), longer);
  EXPECT_NE(in_session("raw.jsonl")->attr.node, raw.attr.node);
  const auto replaced = open(*in_session("raw.jsonl"));
  temp.write(kFolder, kName, lines({TempStore::user("yyyyyyyy", "", "again")}));
  let_time_pass();
  EXPECT_EQ(read(*replaced).substr(0, 6), "error:") << "changed in place";
  EXPECT_FALSE(catalog.view()->by_id.front().second->read());
}

TEST_F(VfsTest, UnloadedIndexKeepsNodesNamesAndHandles) {
  std::filesystem::last_write_time(temp.log(kFolder, kName),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::seconds(100));
  const auto session = catalog.view()->by_id.front().second;
  const std::string name = "text/000002-user-e2aaaaaa.md";
  const auto before = *in_session(name);
  const auto entry = open(*in_session("entries/2.json"));
  const auto context = open(*in_session("context.json"));
  const std::string context_text = read(*context);
  {
    auto call = RequestContext::in_pool();
    const auto dir = vfs.opendir(call, in_session("entries")->attr.node);
    EXPECT_FALSE(session->evict()) << "a folder is open";
  }
  ASSERT_TRUE(session->evict());
  EXPECT_EQ(read(*entry), TempStore::user("e2aaaaaa", "e1aaaaaa", "two") + "\n");
  EXPECT_EQ(read(*context), context_text);
  EXPECT_FALSE(session->read()) << "handles need none";
  auto call = RequestContext::in_pool();
  const auto attr = vfs.getattr(call, before.attr.node);
  ASSERT_TRUE(attr) << attr.error().message;
  EXPECT_EQ(attr->size, before.attr.size);
  EXPECT_EQ(attr->ino, before.attr.ino);
  EXPECT_TRUE(session->read());
  ASSERT_TRUE(session->evict());
  EXPECT_EQ(in_session(name)->attr.node, before.attr.node) << "within the time of one look";
  EXPECT_EQ(list(std::string(kSession) + "/entries").size(), 4U);
  ASSERT_TRUE(session->evict());
  append(TempStore::user("e3aaaaaa", "e2aaaaaa", "three"));
  EXPECT_EQ(text_of("text/3.md"), "three\n");
  EXPECT_EQ(in_session(name)->attr.node, before.attr.node);
  temp.replace(kFolder, kName, lines({TempStore::user("zzzzzzzz", "", "other")}));
  let_time_pass();
  auto later = RequestContext::in_pool();
  EXPECT_EQ(vfs.getattr(later, before.attr.node).error().code, Errc::stale);
}

TEST_F(VfsTest, EntryInodeSurvivesARewrite) {
  const auto before = in_session("entries/e2aaaaaa.json")->attr.ino;
  temp.replace(kFolder, kName,
               lines({TempStore::user("e0aaaaaa", "", "zero"), TempStore::user("e1aaaaaa", "e0aaaaaa", "one"),
                      TempStore::user("e2aaaaaa", "e1aaaaaa", "two")}));
  let_time_pass();
  EXPECT_EQ(in_session("entries/000003-user-e2aaaaaa.json")->attr.ino, before);
}

TEST_F(VfsTest, BranchesAreFoundByEntryIdAndLabel) {
  append(label("l1aaaaaa", "e2aaaaaa", "e1aaaaaa", "check point"));
  EXPECT_EQ(target_of("branches/current"), "000003-l1aaaaaa");
  EXPECT_EQ(in_session("branches/000001-e1aaaaaa")->attr.type, FileType::directory) << "no tip, but a branch";
  EXPECT_EQ(target_of("branches/1"), "000001-e1aaaaaa");
  EXPECT_EQ(target_of("branches/e1aaaaaa"), "000001-e1aaaaaa");
  EXPECT_EQ(target_of("branches/check point"), "000001-e1aaaaaa");
  EXPECT_EQ(target_of("labels/check point"), "../entries/000001-user-e1aaaaaa.json");
  EXPECT_EQ(target_of("leaf"), "entries/000003-label-l1aaaaaa.json");
  EXPECT_EQ(target_of("branches/000002-e2aaaaaa/entries/000001-user-e1aaaaaa.json"),
            "../../../entries/000001-user-e1aaaaaa.json");
  EXPECT_FALSE(in_session("branches/000001-e1aaaaaa/entries/000002-user-e2aaaaaa.json")) << "not on the path";
  EXPECT_FALSE(in_session("branches/nothing"));
}

TEST_F(VfsTest, EmptyFoldersAndLinksAreAbsent) {
  EXPECT_FALSE(in_session("damage"));
  EXPECT_FALSE(in_session("artifacts"));
  temp.write(kFolder, "empty", TempStore::header("bbbb", "/work/pi") + "\n");
  catalog.rescan();
  EXPECT_FALSE(find("projects/work-pi/empty/leaf"));
  EXPECT_FALSE(find("projects/work-pi/empty/branches/current"));
  EXPECT_EQ(list("projects/work-pi/empty/branches").size(), 2U);
}

TEST_F(VfsTest, UnreadableLogHasOnlyItsTagsAndItsStatus) {
  std::filesystem::remove(temp.log(kFolder, kName));
  std::filesystem::create_directory(temp.log(kFolder, kName));
  let_time_pass();
  const std::vector<std::string> expected = {".", "..", "tags", "status.json"};
  EXPECT_EQ(list(kSession), expected);
  EXPECT_NE(text_of("status.json").find("problem"), std::string::npos);
  EXPECT_FALSE(in_session("entries"));
}

TEST_F(VfsTest, ArtifactsIncludeNoLinks) {
  const auto folder = temp.sessions() / kFolder / kName;
  std::filesystem::create_directories(folder / "deep");
  std::ofstream(folder / "deep/a.log") << "output";
  std::filesystem::create_symlink("/etc/passwd", folder / "link");
  EXPECT_EQ(text_of("artifacts/deep/a.log"), "output");
  EXPECT_FALSE(in_session("artifacts/link"));
  EXPECT_FALSE(in_session("artifacts/.."));
  const std::vector<std::string> expected = {".", "..", "deep"};
  EXPECT_EQ(list(std::string(kSession) + "/artifacts"), expected);
}

TEST_F(VfsTest, SessionsAreFoundByPrefixAndStoreFolder) {
  const auto by_id = find("by-id/aaaa");
  ASSERT_TRUE(by_id);
  auto call = RequestContext::in_pool();
  EXPECT_EQ(*vfs.readlink(call, by_id->attr.node), std::string("../") + kSession);
  EXPECT_EQ(*vfs.readlink(call, find("projects/--work-pi--")->attr.node), "work-pi");
  EXPECT_FALSE(find("by-id/b"));
}

TEST_F(VfsTest, SlowLookupsAreDeferred) {
  std::string text = lines({TempStore::user("e1aaaaaa", "", std::string(Session::kQuickBytes, 'x'))});
  temp.write(kFolder, "long", text);
  catalog.rescan();
  const auto session = find("projects/work-pi/long");
  RequestContext quick;
  EXPECT_FALSE(vfs.lookup(quick, session->attr.node, "entries"));
  EXPECT_TRUE(quick.is_deferred());
  auto slow = RequestContext::in_pool();
  EXPECT_TRUE(vfs.lookup(slow, session->attr.node, "entries"));
  RequestContext again;
  EXPECT_TRUE(vfs.lookup(again, session->attr.node, "entries")) << "the index is there now";
  EXPECT_FALSE(again.is_deferred());
}

TEST_F(VfsTest, RemovedSessionIsStaleAndUnlisted) {
  const auto session = find(kSession);
  std::filesystem::remove(temp.log(kFolder, kName));
  catalog.rescan();
  auto call = RequestContext::in_pool();
  EXPECT_EQ(vfs.getattr(call, session->attr.node).error().code, Errc::stale);
  EXPECT_EQ(vfs.lookup(call, session->attr.node, "entries").error().code, Errc::stale);
  EXPECT_EQ(find(kSession).error().code, Errc::not_found);
}

TEST_F(VfsTest, ChangesInvalidateKnownNames) {
  const InvalidationMap map(vfs.state());
  const NodeId session = find(kSession)->attr.node;
  const NodeId entries = in_session("entries")->attr.node;
  const NodeId transcript = in_session("transcript.md")->attr.node;
  const NodeId branches = in_session("branches")->attr.node;
  ASSERT_TRUE(in_session("context.json") && in_session("leaf") && in_session("branches/current"));
  const auto seen = catalog.feed().last_sequence();
  append(TempStore::user("e3aaaaaa", "e2aaaaaa", "three"));
  catalog.touch({kFolder, std::string(kName) + ".jsonl"});
  const auto invalidations = map.invalidations_of(catalog.feed().after(seen, 10));
  const auto tells = [&](NodeId node, const std::string& name) {
    return std::any_of(invalidations.begin(), invalidations.end(),
                       [&](const Invalidation& forget) { return forget.node == node && forget.name == name; });
  };
  EXPECT_TRUE(tells(entries, ""));
  EXPECT_TRUE(tells(transcript, ""));
  EXPECT_TRUE(tells(session, "context.json"));
  EXPECT_TRUE(tells(session, "leaf"));
  EXPECT_TRUE(tells(branches, "current"));
  EXPECT_FALSE(tells(session, "entries")) << "the folder is the same until a rewrite";
  EXPECT_FALSE(tells(session, "usage.json")) << "nobody has looked it up";
  EXPECT_FALSE(tells(NodeId(Kind::recent, 0, 0), "")) << "nobody has looked at it";
}

/// It would take the folder away from a shell that is in it.
TEST_F(VfsTest, NamesThatLeadToARenamedSessionStay) {
  ASSERT_TRUE(catalog.read_names());
  const InvalidationMap map(vfs.state());
  const std::string project = std::string(kSession).substr(0, std::string_view(kSession).rfind('/'));
  const NodeId folder = find(project)->attr.node;
  const std::string before = list(project).back();
  const NodeId session = find(kSession)->attr.node;
  ASSERT_EQ(find(project + "/" + before)->attr.node, session);
  const auto names_of_project = [&](std::uint64_t since) {
    std::vector<std::string> names;
    for (const Invalidation& one : map.invalidations_of(catalog.feed().after(since, 20))) {
      if (one.node == folder) {
        names.push_back(one.name);
      }
    }
    return names;
  };
  std::string titled = lines({TempStore::user("e1aaaaaa", "", "one")});
  titled.insert(titled.find("}\n"), R"(,"title":"Another title")");
  auto seen = catalog.feed().last_sequence();
  temp.replace(kFolder, kName, titled);
  catalog.rescan();
  const std::string after = list(project).back();
  EXPECT_TRUE(after.ends_with("-another-title")) << after;
  EXPECT_EQ(names_of_project(seen), std::vector<std::string>{""}) << "its listing";
  for (const std::string& name : {std::string(kName), before, after}) {
    EXPECT_EQ(find(project + "/" + name)->attr.node, session) << name;
  }
  seen = catalog.feed().last_sequence();
  temp.write(kFolder, "2026-02-16T10-20-30-000Z_00000000000000ff", lines({TempStore::user("e1aaaaaa", "", "new")}));
  catalog.rescan();
  const auto lost = names_of_project(seen);
  EXPECT_EQ(std::count(lost.begin(), lost.end(), before), 0) << "a former name";
}

TEST_F(VfsTest, ListedShortcutNamesAreInvalidated) {
  const InvalidationMap map(vfs.state());
  const auto recent = find("recent");
  auto call = RequestContext::in_pool();
  const auto dir = vfs.opendir(call, recent->attr.node);
  ASSERT_TRUE(recent && dir);
  std::string listed;
  ASSERT_TRUE(vfs.readdir(call, **dir, 2, [&](const DirectoryItem& item) {
    listed = item.name;
    return true;
  }));
  Change change;
  change.kind = Change::Kind::session_touched;
  const auto invalidations = map.invalidations_of({change});
  EXPECT_EQ(invalidations, (std::vector<Invalidation>{{recent->attr.node, ""}, {recent->attr.node, listed}}));
}

TEST_F(VfsTest, EachWriterOfAControlFileHasItsOwnInode) {
  const auto first = in_session("append");
  ASSERT_TRUE(first);
  {
    const ControlInodes::Lease inside(vfs.state().control_inodes, first->attr.node);
    const auto second = in_session("append");
    ASSERT_TRUE(second);
    EXPECT_NE(second->attr.node, first->attr.node);
    EXPECT_NE(in_session("append")->attr.node, second->attr.node) << "before anybody opens either";
    EXPECT_EQ(second->attr.ino, first->attr.ino);
    EXPECT_EQ(second->name_life, CacheTtl::glance);
    EXPECT_EQ(ControlInodes::first_inode(second->attr.node), first->attr.node);
    EXPECT_EQ(ControlInodes::verb_place(second->attr.node), ControlInodes::verb_place(first->attr.node));
    EXPECT_NE(in_session("branch")->attr.node, second->attr.node);
    const ControlInodes::Lease both(vfs.state().control_inodes, second->attr.node);
    EXPECT_NE(in_session("append")->attr.node, second->attr.node);
  }
  EXPECT_EQ(in_session("append")->attr.node, first->attr.node);
  EXPECT_NE(in_session("append")->attr.node, first->attr.node) << "two lookups at the same time";
  EXPECT_TRUE(in_session("branch"));
  EXPECT_EQ(in_session("append")->attr.node, first->attr.node);
}

TEST_F(VfsTest, ControlFileOpensWithAllInodesInUse) {
  std::vector<std::unique_ptr<ControlInodes::Lease>> all;
  for (std::uint32_t i = 0; i < ControlInodes::kCount; ++i) {
    all.push_back(std::make_unique<ControlInodes::Lease>(vfs.state().control_inodes, in_session("append")->attr.node));
  }
  EXPECT_TRUE(in_session("append"));
}

TEST_F(VfsTest, ConcurrentReadersSeeWholeStates) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const std::string raw = text_of("raw.jsonl");
        const std::string context = text_of("context.json");
        // The kernel shows an append that crosses a page in two steps, so raw bytes may end inside a line.
        const std::string lines = raw.substr(0, raw.rfind('\n') + 1);
        if (!raw.starts_with("{\"type\":\"session\"") || !lines.ends_with("}\n") || !context.ends_with("}\n")) {
          ADD_FAILURE() << "raw.jsonl: " << raw << "\ncontext.json: " << context;
          ++wrong;
        }
      }
    });
  }
  std::string parent = "e2aaaaaa";
  for (int i = 0; i < 100; ++i) {
    const std::string id = "w" + std::to_string(i);
    temp.append(kFolder, kName, TempStore::user(id, parent, "more") + "\n");
    parent = id;
    if (i % 25 == 24) {
      temp.replace(kFolder, kName, lines({TempStore::user("e2aaaaaa", "", "anew")}));
      parent = "e2aaaaaa";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop = true;
  for (auto& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace arborfs
