// Reading without opening, and prefetching into the kernel's cache: over a real folder, without a kernel.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "core/formats/omp/store/store.h"
#include "fs/nodes/node_table.h"
#include "fs/nodes/read_ahead.h"
#include "fs/nodes/vfs.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;
using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";
constexpr char kSession[] = "projects/work-pi/2026-02-16T10-20-30-000Z_aaaa000011112222";
constexpr int kEntries = 500;

NodeId entry(Ordinal ordinal, std::uint32_t slot = 1) {
  return {Kind::entry, slot, ordinal};
}

// -- Walks

Ordinal last_of(const ReadAheadRange& stretch) {
  return stretch.nth(stretch.count - 1);
}

/// A reader of a folder's files; every file that is announced is prefetched.
class Reader {
 public:
  Reader(SequentialReaders& walks, Ordinal files) : walks_(walks), has_(files + 1) {}
  void read(Ordinal at, int step) {
    if (has_[at]) {
      return;
    }
    ++asked_;
    const auto stretch = walks_.note(entry(at));
    if (!stretch) {
      return;
    }
    EXPECT_EQ(stretch->step, step);
    const Ordinal marker = walks_.mark(*stretch);
    for (std::uint32_t n = 0; n < stretch->count; ++n) {
      const Ordinal ordinal = stretch->nth(n);
      ASSERT_GE(ordinal, 1U);
      ASSERT_TRUE(step > 0 ? ordinal > at : ordinal < at) << ordinal << " before " << at;
      if (ordinal < has_.size() && ordinal != marker) {
        has_[ordinal] = true;
      }
    }
  }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  SequentialReaders& walks_;
  std::vector<bool> has_;
  int asked_ = 0;
};

constexpr int kToBegin = 20;  // at most so many files are asked for before prefetching starts

TEST(SequentialReaders, ForwardReaderRequestsOnlyMarkers) {
  for (const Ordinal files : {5000U, 20000U}) {
    SequentialReaders walks;
    Reader reader(walks, files);
    for (Ordinal at = 1; at <= files; ++at) {
      reader.read(at, 1);
    }
    EXPECT_LE(reader.asked(), static_cast<int>(files / SequentialReaders::kApart) + kToBegin) << files;
  }
}

TEST(SequentialReaders, BackwardReaderRequestsOnlyMarkers) {
  SequentialReaders walks;
  Reader reader(walks, 1000);
  for (Ordinal at = 1000; at >= 1; --at) {
    reader.read(at, -1);
  }
  EXPECT_LE(reader.asked(), 60);
}

TEST(SequentialReaders, RandomReadsTriggerNoReadAhead) {
  SequentialReaders walks;
  for (const Ordinal at : {1U, 2U, 900U, 901U, 17U, 400U, 399U, 3000U, 50U, 50U, 50U, 50U}) {
    EXPECT_FALSE(walks.note(entry(at))) << at;
  }
}

TEST(SequentialReaders, ReadersOfSeveralFoldersAreDistinguished) {
  SequentialReaders walks;
  int stretches = 0;
  for (Ordinal at = 1; at <= SequentialReaders::kSure; ++at) {
    for (std::uint32_t slot = 1; slot <= SequentialReaders::kMost; ++slot) {
      const auto stretch = walks.note(entry(at, slot));
      stretches += stretch && stretch->folder.slot() == slot ? 1 : 0;
    }
  }
  EXPECT_EQ(stretches, static_cast<int>(SequentialReaders::kMost));
}

/// As the threads of rg do, which take files from both ends of a list.
TEST(SequentialReaders, OpposingReadersOfOneFolderAreDistinguished) {
  constexpr Ordinal kFiles = 2000;
  SequentialReaders walks;
  Reader reader(walks, kFiles);
  for (Ordinal at = 1; at <= kFiles / 2; ++at) {
    reader.read(at, 1);
    reader.read(kFiles + 1 - at, -1);
  }
  EXPECT_LE(reader.asked(), 2 * (kFiles / 2 / static_cast<int>(SequentialReaders::kApart) + kToBegin));
}

TEST(SequentialReaders, OvertakingReaderGetsALaterRange) {
  SequentialReaders walks;
  std::optional<ReadAheadRange> first;
  for (Ordinal at = 1; !first; ++at) {
    first = walks.note(entry(at));
  }
  const Ordinal beyond = last_of(*first) + 1;  // the reader skipped the marker
  const auto next = walks.note(entry(beyond));
  ASSERT_TRUE(next);
  EXPECT_GT(next->first, beyond);
}

TEST(SequentialReaders, CutRangeContinuesWhereItEnded) {
  SequentialReaders walks;
  std::optional<ReadAheadRange> first;
  for (Ordinal at = 1; !first; ++at) {
    first = walks.note(entry(at));
  }
  walks.cut(*first, 10);
  const auto next = walks.note(entry(first->nth(10)));
  ASSERT_TRUE(next);
  EXPECT_GT(next->first, first->nth(10));
  EXPECT_LT(next->first, last_of(*first));
}

TEST(SequentialReaders, PassedMarkersDoNotBlockReadAhead) {
  SequentialReaders walks;
  std::optional<ReadAheadRange> first;
  Ordinal at = 1;
  for (; !first; ++at) {
    first = walks.note(entry(at));
  }
  EXPECT_NE(walks.mark(*first), kNoEntry);
  const auto second = walks.note(entry(last_of(*first) + 1));
  ASSERT_TRUE(second);
  EXPECT_NE(walks.mark(*second), kNoEntry);
}

TEST(SequentialReaders, OvertakenRangeHasNoMarker) {
  SequentialReaders walks;
  std::optional<ReadAheadRange> first;
  for (Ordinal at = 1; !first; ++at) {
    first = walks.note(entry(at));
  }
  walks.note(entry(last_of(*first) + 1));
  EXPECT_EQ(walks.mark(*first), kNoEntry);
}

TEST(SequentialReaders, LargestOrdinalsDoNotOverflow) {
  SequentialReaders walks;
  for (Ordinal at = UINT32_MAX - 5; at != 0; ++at) {
    EXPECT_FALSE(walks.note(entry(at)));
  }
}

// -- ImplicitHandles

class NoFile final : public OpenFile {
 public:
  Result<std::size_t> read(MountState&, RequestContext&, std::uint64_t, std::span<char>) override {
    return std::size_t{0};
  }
};

TEST(ImplicitHandles, HandleExpiresSoonAfterTheLastRead) {
  ImplicitHandles files;
  const auto start = ImplicitHandles::Clock::time_point(1h);
  const OpenFilePtr file = std::make_shared<NoFile>();
  files.hold(entry(1), file, start);
  EXPECT_EQ(files.find(entry(1), start + 9s), file);
  files.evict_idle(start + 18s);
  EXPECT_EQ(files.find(entry(1), start + 18s), file);
  files.evict_idle(start + 28s);
  EXPECT_EQ(files.find(entry(1), start + 28s), nullptr);
  EXPECT_EQ(file.use_count(), 1);
}

TEST(ImplicitHandles, FirstReaderDeterminesTheHandle) {
  ImplicitHandles files;
  const OpenFilePtr first = std::make_shared<NoFile>();
  files.hold(entry(1), first);
  files.hold(entry(1), std::make_shared<NoFile>());
  EXPECT_EQ(files.find(entry(1)), first);
}

TEST(ImplicitHandles, LeastRecentlyReadHandleIsEvicted) {
  ImplicitHandles files;
  const auto start = ImplicitHandles::Clock::time_point(1h);
  for (std::uint32_t i = 0; i < ImplicitHandles::kMost; ++i) {
    files.hold(entry(i + 1), std::make_shared<NoFile>(), start + i * 1ms);
  }
  EXPECT_NE(files.find(entry(1), start + 1s), nullptr);
  files.hold(entry(1000), std::make_shared<NoFile>(), start + 2s);
  EXPECT_NE(files.find(entry(1), start + 3s), nullptr);
  EXPECT_EQ(files.find(entry(2), start + 3s), nullptr);
}

// -- With a store

class ReadingTest : public ::testing::Test {
 protected:
  ReadingTest() : catalog(omp::open_store(temp.root()), "/home/dev"), vfs(catalog, true) {
    temp.write(kFolder, kName, log_of("text"));
    const auto hour_ago = std::filesystem::file_time_type::clock::now() - 1h;
    std::filesystem::last_write_time(temp.log(kFolder, kName), hour_ago);
    catalog.rescan();
  }

  static std::string id_of(int number) { return "e" + std::to_string(1000000 + number); }
  static std::string line(int number, const std::string& text) {
    return TempStore::user(id_of(number), number == 1 ? "" : id_of(number - 1), text + " " + std::to_string(number));
  }
  static std::string log_of(const std::string& text) {
    std::string log = TempStore::header("aaaa000011112222", "/work/pi") + "\n";
    for (int number = 1; number <= kEntries; ++number) {
      log += line(number, text) + "\n";
    }
    return log;
  }

  Found find(const std::string& path) {
    auto call = RequestContext::in_pool();
    Found found{{NodeId::root(), 1, FileType::directory, CacheTtl::moment, 0, 0}, CacheTtl::moment};
    std::istringstream names(std::string(kSession) + "/" + path);
    for (std::string name; std::getline(names, name, '/');) {
      found = vfs.lookup(call, found.attr.node, name).value();
    }
    return found;
  }
  /// "error" if it cannot be read.
  std::string read(NodeId node, std::size_t most = 1 << 20, std::uint64_t offset = 0) {
    auto call = RequestContext::in_pool();
    std::string bytes(most, '\0');
    const auto got = vfs.read_without_open(call, node, offset, bytes);
    return got ? bytes.substr(0, *got) : "error";
  }

  TempStore temp;
  Catalog catalog;
  Vfs vfs;
};

TEST_F(ReadingTest, NodesAreReadableWithoutOpen) {
  EXPECT_EQ(read(find("entries/7.json").attr.node), line(7, "text") + "\n");
  EXPECT_EQ(read(find("text/7.md").attr.node), "text 7\n");
  EXPECT_EQ(read(find("raw.jsonl").attr.node), log_of("text"));
}

TEST_F(ReadingTest, NamesOfChangingFilesAreNotCached) {
  for (const char* name : {"context.json", "raw.jsonl", "title", "status.json", "transcript.md", "entries/7.json"}) {
    EXPECT_EQ(find(name).name_life, CacheTtl::glance) << name;
  }
  EXPECT_EQ(find("entries/000007-user-" + id_of(7) + ".json").name_life, CacheTtl::forever);
  EXPECT_EQ(find("entries").name_life == CacheTtl::glance, false) << "folders have opens of their own";
}

TEST_F(ReadingTest, LookedUpNodeStaysReadableAfterAnAppend) {
  const NodeId context = find("context.json").attr.node;
  const std::string before = read(context);
  const NodeId tree = find("tree.txt").attr.node;
  temp.append(kFolder, kName, line(kEntries + 1, "text") + "\n");
  std::this_thread::sleep_for(150ms);  // longer than an open may elsewhere use its lookup
  EXPECT_NE(find("context.json").attr.node, context);
  EXPECT_EQ(read(context), before);
  EXPECT_NE(read(tree), "error");
}

TEST_F(ReadingTest, FileBeingReadKeepsItsLogThroughARewrite) {
  const NodeId raw = find("raw.jsonl").attr.node;
  const std::string before = log_of("text");
  EXPECT_EQ(read(raw, 1000), before.substr(0, 1000));
  temp.replace(kFolder, kName, log_of("quite another text"));
  std::this_thread::sleep_for(20ms);
  const NodeId now = find("raw.jsonl").attr.node;
  EXPECT_NE(now, raw);
  EXPECT_EQ(read(now), log_of("quite another text"));
  EXPECT_EQ(read(raw, 1 << 20, 1000), before.substr(1000));
}

TEST_F(ReadingTest, EntryOfAReplacedLogIsStale) {
  const NodeId old = find("entries/7.json").attr.node;
  temp.replace(kFolder, kName, log_of("quite another text"));
  std::this_thread::sleep_for(20ms);
  find("entries");
  EXPECT_EQ(read(old), "error");
}

/// Stands for the kernel's page cache.
class Kernel {
 public:
  ReadAhead::Keep keep() {
    return [this](NodeId node, std::string_view bytes) {
      const std::lock_guard lock(mutex_);
      has_[node] = bytes;
      changed_.notify_all();
      return true;
    };
  }
  std::map<NodeId, std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 10s, [&] { return has_.size() >= count; });
    return has_;
  }
  std::map<NodeId, std::string> wait_for_item(std::uint32_t item) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 10s, [&] { return !has_.empty() && has_.rbegin()->first.item() >= item; });
    return has_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<NodeId, std::string> has_;
};

TEST_F(ReadingTest, ReadAheadStoresTheBytesOfARead) {
  Kernel kernel;
  ReadAhead ahead(vfs.state(), kernel.keep());
  for (const char* folder : {"entries/", "text/"}) {
    const std::string suffix = folder[0] == 'e' ? ".json" : ".md";
    for (int number = 1; number <= static_cast<int>(SequentialReaders::kSure); ++number) {
      ahead.note(find(folder + std::to_string(number) + suffix).attr.node);
    }
  }
  constexpr std::size_t kHas = 2 * (SequentialReaders::kFirstLead - 1);  // the markers are not prefetched
  const auto has = kernel.wait_for(kHas);
  ASSERT_EQ(has.size(), kHas);
  for (const auto& [node, bytes] : has) {
    EXPECT_EQ(bytes, read(node)) << word_of(node) << " " << node.item();
  }
}

TEST_F(ReadingTest, ReadAheadEndsWithTheLog) {
  Kernel kernel;
  ReadAhead ahead(vfs.state(), kernel.keep());
  for (int number = kEntries - 10; number < kEntries - 7; ++number) {
    ahead.note(find("entries/" + std::to_string(number) + ".json").attr.node);
  }
  const auto has = kernel.wait_for_item(kEntries);
  ASSERT_FALSE(has.empty());
  EXPECT_EQ(has.rbegin()->first.item(), kEntries);
}

/// Reads the files in order; returns how many the kernel had to ask for.
int read_through(ReadAhead& ahead, Kernel& kernel, NodeId first, Ordinal files) {
  int asked = 0;
  for (Ordinal n = 0; n < files; ++n) {
    const NodeId node(first.kind(), first.slot(), first.item() + n);
    if (!kernel.wait_for(0).contains(node)) {
      ++asked;
      ahead.note(node);
    }
    while (ahead.is_busy()) {
      std::this_thread::yield();
    }
  }
  return asked;
}

TEST_F(ReadingTest, LongEntriesAreReadAheadToTheEnd) {
  constexpr Ordinal kLong = 400;
  std::string log = log_of("text");
  log.resize(log.find('\n') + 1);
  for (Ordinal number = 1; number <= kLong; ++number) {
    const std::string id = std::to_string(10'000'000 + number);
    const std::string parent = number == 1 ? "null" : '"' + std::to_string(10'000'000 + number - 1) + '"';
    log += R"({"type":"message","id":")" + id + R"(","parentId":)" + parent +
           R"(,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user","content":")" +
           std::string(60'000, 'x') + "\"}}\n";
  }
  temp.replace(kFolder, kName, log);
  std::this_thread::sleep_for(100ms);  // a log that was just written is not prefetched
  Kernel kernel;
  ReadAhead ahead(vfs.state(), kernel.keep());
  EXPECT_LE(read_through(ahead, kernel, find("entries/10000001.json").attr.node, kLong), 40);
}

TEST_F(ReadingTest, UnknownInodeEndsOneRangeOnly) {
  constexpr std::uint32_t kUnknown = 100;
  Kernel kernel;
  ReadAhead ahead(vfs.state(), [keep = kernel.keep()](NodeId node, std::string_view bytes) {
    return node.item() != kUnknown && keep(node, bytes);
  });
  EXPECT_LE(read_through(ahead, kernel, find("entries/1.json").attr.node, kEntries), 40);
}

TEST_F(ReadingTest, RecentlyChangedLogIsNotReadAhead) {
  Kernel kernel;
  const NodeId first = find("entries/1.json").attr.node;
  std::ofstream(temp.log(kFolder, kName), std::ios::binary | std::ios::in).seekp(300).write("#", 1);
  {
    ReadAhead ahead(vfs.state(), kernel.keep());
    for (std::uint32_t number = 0; number < SequentialReaders::kSure; ++number) {
      ahead.note(NodeId(first.kind(), first.slot(), first.item() + number));
    }
    while (ahead.is_busy()) {
      std::this_thread::yield();
    }
  }
  EXPECT_TRUE(kernel.wait_for(0).empty());
}

}  // namespace
}  // namespace arborfs
