// search/ without a kernel: which names are queries, what their folders list, and when a search runs again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "core/base/cancellation.h"
#include "core/base/wanted.h"
#include "core/formats/omp/store/store.h"
#include "fs/nodes/vfs.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";

class FsSearchTest : public ::testing::Test {
 protected:
  FsSearchTest() : catalog(omp::open_store(temp.root()), "/home/dev"), vfs(catalog, false) {
    put("aaaa", "the race");
    put("bbbb", "a race condition");
    catalog.rescan();
  }

  static std::string name_of(const std::string& id) { return "2026-02-16T10-20-30-000Z_" + id; }
  void put(const std::string& id, const std::string& text) {
    temp.write(kFolder, name_of(id),
               TempStore::header(id, "/work/pi") + "\n" + TempStore::user("e1aaaaaa", "", text) + "\n");
  }

  Result<Found> find(const std::string& path, pid_t client = 0) {
    auto call = RequestContext::in_pool(client);
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
  std::vector<std::string> list(const std::string& path) {
    auto call = RequestContext::in_pool();
    const auto dir = vfs.opendir(call, find(path)->attr.node);
    std::vector<std::string> names;
    EXPECT_TRUE(vfs.readdir(call, **dir, 2, [&](const DirectoryItem& item) {
      names.emplace_back(item.name);
      return true;
    }));
    return names;
  }
  std::string text_of(const std::string& path) {
    auto call = RequestContext::in_pool();
    const auto found = find(path);
    const auto file = found ? vfs.open(call, found->attr.node) : Result<OpenFilePtr>(found.error());
    std::string bytes(found ? found->attr.size : 0, '\0');
    const auto got = file ? vfs.read(call, **file, 0, bytes) : Result<std::size_t>(file.error());
    return got ? bytes.substr(0, *got) : "error: " + got.error().message;
  }
  std::string target_of(const std::string& path) {
    auto call = RequestContext::in_pool();
    return *vfs.readlink(call, find(path)->attr.node);
  }

  TempStore temp;
  Catalog catalog;
  Vfs vfs;
};

TEST_F(FsSearchTest, AQueryListsItsMatchesBestFirst) {
  EXPECT_THAT(list("search"), ElementsAre());
  EXPECT_THAT(list("search/race"),
              ElementsAre("excerpts.md", "hits.json", "01-" + name_of("aaaa"), "02-" + name_of("bbbb")));
  EXPECT_THAT(list("search/\"race condition\""), ElementsAre("excerpts.md", "hits.json", "01-" + name_of("bbbb")));
  EXPECT_THAT(list("search/zyzzyva"), ElementsAre("excerpts.md", "hits.json"));
  EXPECT_EQ(target_of("search/race condition/01-" + name_of("bbbb")), "../../projects/work-pi/" + name_of("bbbb"));
  EXPECT_EQ(find("search/race condition/02-" + name_of("aaaa")).error().code, Errc::not_found);
}

TEST_F(FsSearchTest, FilesSayWhatMatchedWhere) {
  EXPECT_THAT(text_of("search/race condition/excerpts.md"),
              HasSubstr("\n- `01-" + name_of("bbbb") + "/text/000001-user-e1aaaaaa.md`: a **race** **condition**\n"));
  EXPECT_THAT(text_of("search/race condition/hits.json"),
              HasSubstr("[\n{\"link\":\"01-" + name_of("bbbb") +
                        "\",\"session\":\"bbbb\",\"agent\":\"omp\",\"project\":\"work-pi\""));
  EXPECT_THAT(text_of("search/zyzzyva/excerpts.md"), HasSubstr("No session matches."));
  EXPECT_EQ(text_of("search/zyzzyva/hits.json"), "[]\n");
}

TEST_F(FsSearchTest, LookingUpManyFilesForgetsNoSearch) {
  const NodeId query = find("search/race")->attr.node;
  auto call = RequestContext::in_pool();
  const NodeId link = find("search/race/01-" + name_of("aaaa"))->attr.node;
  const NodeId files = find("by-file")->attr.node;
  for (std::size_t i = 0; i < 2 * search::RecentSearches::kMostQueries; ++i) {
    ASSERT_TRUE(vfs.lookup(call, files, "file" + std::to_string(i)));
  }
  EXPECT_TRUE(vfs.getattr(call, query));
  EXPECT_EQ(vfs.lookup(call, query, "01-" + name_of("aaaa"))->attr.node, link);
  const std::string file = "by-file/file" + std::to_string(2 * search::RecentSearches::kMostQueries);
  EXPECT_THAT(list(file), ElementsAre());
}

TEST_F(FsSearchTest, OnlyQueriesAreNames) {
  for (const char* name : {".git", ".xdg-volume-info", "-", "after:soon", "\"\"", "role:user role:user"}) {
    const bool is_there = bool(find(std::string("search/") + name));
    EXPECT_EQ(is_there, std::string(name) == "-") << name;
  }
  for (const char* name : {".git", "HEAD", "1-x", "01", "03-the-race", "excerpts.txt"}) {
    EXPECT_EQ(find(std::string("search/race/") + name).error().code, Errc::not_found) << name;
  }
}

TEST_F(FsSearchTest, AQueryForAnAgentWithoutAStoreIsRefused) {
  EXPECT_EQ(find("search/agent:opm race").error().code, Errc::invalid_argument);
  EXPECT_TRUE(find("search/agent:omp race"));
}

TEST_F(FsSearchTest, AQueryForARoleThatNoEntryHasIsRefused) {
  const std::string query = "search/role:asistant race";
  EXPECT_THAT(text_of(query + "/hits.json"),
              HasSubstr("error: no entry has the role 'asistant'; there are entries of "));
  auto call = RequestContext::in_pool();
  EXPECT_EQ(vfs.opendir(call, find(query)->attr.node).error().code, Errc::invalid_argument);
  EXPECT_EQ(text_of("search/role:user zyzzyva/hits.json"), "[]\n");
}

TEST_F(FsSearchTest, TheMatchesFollowTheLogs) {
  EXPECT_EQ(text_of("search/later/hits.json"), "[]\n");
  const auto before = find("search/later/hits.json");
  temp.append(kFolder, name_of("aaaa"), TempStore::user("e2aaaaaa", "e1aaaaaa", "later") + "\n");
  catalog.rescan();
  EXPECT_THAT(text_of("search/later/hits.json"), HasSubstr("\"session\":\"aaaa\""));
  EXPECT_NE(find("search/later/hits.json")->attr.node, before->attr.node) << "other bytes, another node";
}

TEST_F(FsSearchTest, AnOpenSucceedsWhileProgramsWriteAllTheTime) {
  int number = 100;
  for (const bool is_own : {false, true}) {
    for (const char* text : {"a race again", "other words"}) {
      for (int round = 0; round < 20; ++round) {
        Result<OpenFilePtr> file = Error{Errc::stale, "not yet"};
        for (int attempt = 0; attempt < 2 && !file; ++attempt) {
          const auto found = find("search/race/hits.json", 4711);
          ASSERT_TRUE(found) << found.error().message;
          temp.append(kFolder, name_of("aaaa"),
                      TempStore::user("e" + std::to_string(number++), "e1aaaaaa", text) + "\n");
          catalog.rescan();
          if (is_own) {
            vfs.state().note_own_write(1);
          }
          EXPECT_TRUE(find("search/race/excerpts.md"));  // another reader searches
          auto opening = RequestContext::in_pool(4711);
          file = vfs.open(opening, found->attr.node);
        }
        EXPECT_TRUE(file) << is_own << text << round << file.error().message;
      }
    }
  }
}

TEST_F(FsSearchTest, ListedNamesLeadToTheirSessionsForAWhile) {
  const auto before = list("search/race condition");
  ASSERT_THAT(before, ElementsAre("excerpts.md", "hits.json", "01-" + name_of("bbbb")));
  const std::string target = target_of("search/race condition/01-" + name_of("bbbb"));
  std::string longer;
  for (int i = 0; i < 3; ++i) {  // the first match is another one, and then the listed one matches no more
    put("cccc" + std::to_string(i), "race condition");
    catalog.rescan();
    longer = list("search/race condition").back();
  }
  EXPECT_TRUE(find("search/race condition/" + longer));
  put("bbbb", "nothing");
  for (int i = 0; i < 3; ++i) {
    put("cccc" + std::to_string(i), "nothing");
  }
  catalog.rescan();
  EXPECT_THAT(list("search/race condition"), ElementsAre("excerpts.md", "hits.json"));
  EXPECT_TRUE(find("search/race condition/01-" + name_of("bbbb")));
  EXPECT_TRUE(find("search/race condition/" + longer));
}

TEST_F(FsSearchTest, UnchangedLogsAreSearchedOnceForSeveralRequests) {
  const auto query = find("search/race")->attr.node;
  RequestContext quick;
  EXPECT_FALSE(vfs.opendir(quick, query));
  EXPECT_TRUE(quick.is_deferred()) << "a search moves to a pool";
  list("search/race");
  RequestContext again;
  EXPECT_TRUE(vfs.opendir(again, query));
  EXPECT_TRUE(vfs.lookup(again, query, "excerpts.md"));
  EXPECT_TRUE(vfs.lookup(again, query, "01-" + name_of("aaaa")));
}

TEST_F(FsSearchTest, ASearchEndsWhenItsClientDoes) {
  const auto query = find("search/race")->attr.node;
  auto call = RequestContext::in_pool();
  {
    const Wanted nobody([] { return false; });
    EXPECT_EQ(vfs.opendir(call, query).error().code, Errc::interrupted);
  }
  std::stop_source unmounting;
  unmounting.request_stop();
  const Cancellation cancellation(unmounting.get_token());
  EXPECT_EQ(vfs.opendir(call, query).error().code, Errc::interrupted);
}

TEST_F(FsSearchTest, ManyQueriesAndResultsStayBounded) {
  search::RecentSearches searches;
  const std::uint32_t first = searches.number_of("first");
  EXPECT_EQ(searches.number_of("first"), first);
  for (std::size_t i = 0; i < search::RecentSearches::kMostQueries; ++i) {
    searches.number_of("word" + std::to_string(i));
  }
  EXPECT_FALSE(searches.text_of(first));
  EXPECT_EQ(searches.search(catalog, first).error().code, Errc::stale);
  EXPECT_NE(searches.number_of("first"), first) << "numbers are never reused";
  const std::uint32_t race = searches.number_of("race");
  const auto result = searches.search(catalog, race);
  ASSERT_TRUE(result);
  EXPECT_EQ(searches.known(race), *result);
  for (std::size_t i = 0; i < search::RecentSearches::kMostResults; ++i) {
    ASSERT_TRUE(searches.search(catalog, searches.number_of("other" + std::to_string(i))));
  }
  EXPECT_EQ(searches.known(race), nullptr);
}

TEST_F(FsSearchTest, ConcurrentRequestsShareOneSearch) {
  search::RecentSearches searches;
  const std::uint32_t race = searches.number_of("race");
  std::vector<std::thread> threads;
  std::vector<search::SearchResultPtr> results(4);
  for (auto& result : results) {
    threads.emplace_back([&] { result = *searches.search(catalog, race); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& result : results) {
    EXPECT_EQ(result->version, results[0]->version);
    EXPECT_EQ(result->report.links.size(), 2U);
  }
}

}  // namespace
}  // namespace arborfs
