// Reading without opening, and what is handed to the kernel before it asks: over a real folder, without a kernel.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "fs/node_table.h"
#include "fs/read_ahead.h"
#include "fs/unopened_files.h"
#include "fs/vfs.h"
#include "fs/walks.h"
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

TEST(Walks, OneWhoGoesInOrderAsksForMarkersAlone) {
  Walks walks;
  std::vector<bool> has(5001);
  int asked = 0;
  for (Ordinal at = 1; at <= 5000; ++at) {
    if (has[at]) {
      continue;
    }
    ++asked;
    if (const auto stretch = walks.note(entry(at))) {
      for (std::uint32_t n = 0; n < stretch->count; ++n) {
        const Ordinal ordinal = stretch->nth(n);
        EXPECT_GT(ordinal, at);
        if (ordinal <= 5000 && ordinal != stretch->marker) {
          has[ordinal] = true;
        }
      }
    }
  }
  EXPECT_LE(asked, 5000 / static_cast<int>(Walks::kLongestCount) + 20);
}

TEST(Walks, BackwardTooDownToTheFirst) {
  Walks walks;
  std::vector<bool> has(1001);
  int asked = 0;
  for (Ordinal at = 1000; at >= 1; --at) {
    if (has[at]) {
      continue;
    }
    ++asked;
    if (const auto stretch = walks.note(entry(at))) {
      EXPECT_EQ(stretch->step, -1);
      for (std::uint32_t n = 0; n < stretch->count; ++n) {
        const Ordinal ordinal = stretch->nth(n);
        ASSERT_GE(ordinal, 1U);
        ASSERT_LT(ordinal, at);
        has[ordinal] = ordinal != stretch->marker;
      }
    }
  }
  EXPECT_LE(asked, 60);
}

TEST(Walks, NothingIsSaidToOneWhoLooksHereAndThere) {
  Walks walks;
  for (const Ordinal at : {1U, 2U, 900U, 901U, 17U, 400U, 399U, 3000U, 50U, 50U, 50U, 50U}) {
    EXPECT_FALSE(walks.note(entry(at))) << at;
  }
}

TEST(Walks, ReadersOfSeveralFoldersAreToldApart) {
  Walks walks;
  int stretches = 0;
  for (Ordinal at = 1; at <= Walks::kSure; ++at) {
    for (std::uint32_t slot = 1; slot <= Walks::kMost; ++slot) {
      const auto stretch = walks.note(entry(at, slot));
      stretches += stretch && stretch->slot == slot ? 1 : 0;
    }
  }
  EXPECT_EQ(stretches, static_cast<int>(Walks::kMost));
}

/// As the threads of rg do, which take turns at a list from its ends.
TEST(Walks, TwoInOneFolderComingTowardsEachOtherAreToldApart) {
  constexpr Ordinal kFiles = 2000;
  Walks walks;
  std::vector<bool> has(kFiles + 1);
  int asked = 0;
  const auto read = [&](Ordinal at) {
    if (has[at]) {
      return;
    }
    ++asked;
    if (const auto stretch = walks.note(entry(at))) {
      for (std::uint32_t n = 0; n < stretch->count; ++n) {
        const Ordinal ordinal = stretch->nth(n);
        if (ordinal <= kFiles && ordinal != stretch->marker) {
          has[ordinal] = true;
        }
      }
    }
  };
  for (Ordinal at = 1; at <= kFiles / 2; ++at) {
    read(at);
    read(kFiles + 1 - at);
  }
  EXPECT_LE(asked, 2 * (kFiles / 2 / static_cast<int>(Walks::kLongestCount) + 20));
}

TEST(Walks, OneWhoOvertakesIsMetFurtherOn) {
  Walks walks;
  std::optional<WalkStretch> first;
  for (Ordinal at = 1; !first; ++at) {
    first = walks.note(entry(at));
  }
  const Ordinal beyond = first->nth(first->count - 1) + 1;  // the marker was never asked for
  const auto next = walks.note(entry(beyond));
  ASSERT_TRUE(next);
  EXPECT_GT(next->first, beyond);
}

TEST(Walks, NumbersAtTheEndOfTheirRangeAreNoTrouble) {
  Walks walks;
  for (Ordinal at = UINT32_MAX - 5; at != 0; ++at) {
    EXPECT_FALSE(walks.note(entry(at)));
  }
}

// -- UnopenedFiles

class NoFile final : public OpenFile {
 public:
  Result<std::size_t> read(MountState&, Call&, std::uint64_t, std::span<char>) override { return std::size_t{0}; }
};

TEST(UnopenedFiles, AFileIsHeldWhileItIsReadAndNotMuchLonger) {
  UnopenedFiles files;
  const auto start = UnopenedFiles::Clock::time_point(1h);
  const OpenFilePtr file = std::make_shared<NoFile>();
  files.hold(entry(1), file, start);
  EXPECT_EQ(files.find(entry(1), start + 9s), file);
  files.let_go(start + 18s);
  EXPECT_EQ(files.find(entry(1), start + 18s), file);
  files.let_go(start + 28s);
  EXPECT_EQ(files.find(entry(1), start + 28s), nullptr);
  EXPECT_EQ(file.use_count(), 1);
}

TEST(UnopenedFiles, TheFirstOfTwoReadersSaysWhatIsHeld) {
  UnopenedFiles files;
  const OpenFilePtr first = std::make_shared<NoFile>();
  files.hold(entry(1), first);
  files.hold(entry(1), std::make_shared<NoFile>());
  EXPECT_EQ(files.find(entry(1)), first);
}

TEST(UnopenedFiles, TheOneReadLongestAgoMakesRoom) {
  UnopenedFiles files;
  const auto start = UnopenedFiles::Clock::time_point(1h);
  for (std::uint32_t i = 0; i < UnopenedFiles::kMost; ++i) {
    files.hold(entry(i + 1), std::make_shared<NoFile>(), start + i * 1ms);
  }
  EXPECT_NE(files.find(entry(1), start + 1s), nullptr);
  files.hold(entry(1000), std::make_shared<NoFile>(), start + 2s);
  EXPECT_NE(files.find(entry(1), start + 3s), nullptr);
  EXPECT_EQ(files.find(entry(2), start + 3s), nullptr);
}

// -- On a store

class ReadingTest : public ::testing::Test {
 protected:
  ReadingTest() : catalog(open_store(temp.root()), "/home/dev"), vfs(catalog, true) {
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
    Call call{&never};
    Found found{{NodeId::root(), 1, FileType::directory, Life::moment, 0, 0}, Life::moment};
    std::istringstream names(std::string(kSession) + "/" + path);
    for (std::string name; std::getline(names, name, '/');) {
      found = vfs.lookup(call, found.attr.node, name).value();
    }
    return found;
  }
  /// "error" when it cannot be read.
  std::string read(NodeId node, std::size_t most = 1 << 20, std::uint64_t offset = 0) {
    Call call{&never};
    std::string bytes(most, '\0');
    const auto got = vfs.read_unopened(call, node, offset, bytes);
    return got ? bytes.substr(0, *got) : "error";
  }

  const std::atomic<bool> never{false};
  TempStore temp;
  Catalog catalog;
  Vfs vfs;
};

TEST_F(ReadingTest, ANodeIsReadWithoutAnOpen) {
  EXPECT_EQ(read(find("entries/7.json").attr.node), line(7, "text") + "\n");
  EXPECT_EQ(read(find("text/7.md").attr.node), "text 7\n");
  EXPECT_EQ(read(find("raw.jsonl").attr.node), log_of("text"));
}

TEST_F(ReadingTest, NamesOfWhatMayChangeAreLookedUpEachTime) {
  for (const char* name : {"context.json", "raw.jsonl", "title", "status.json", "transcript.md", "entries/7.json"}) {
    EXPECT_EQ(find(name).name_life, Life::glance) << name;
  }
  EXPECT_EQ(find("entries/000007-user-" + id_of(7) + ".json").name_life, Life::forever);
  EXPECT_EQ(find("entries").name_life == Life::glance, false) << "folders have opens of their own";
}

TEST_F(ReadingTest, WhatWasLookedUpIsReadWhateverComesBetween) {
  const NodeId context = find("context.json").attr.node;
  const std::string before = read(context);
  const NodeId tree = find("tree.txt").attr.node;
  temp.append(kFolder, kName, line(kEntries + 1, "text") + "\n");
  std::this_thread::sleep_for(150ms);  // longer than an open may follow its lookup elsewhere
  EXPECT_NE(find("context.json").attr.node, context);
  EXPECT_EQ(read(context), before);
  EXPECT_NE(read(tree), "error");
}

TEST_F(ReadingTest, AFileThatIsBeingReadKeepsItsLogThroughARewrite) {
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

TEST_F(ReadingTest, AnEntryOfALogThatIsGoneIsNotMistakenForAnother) {
  const NodeId old = find("entries/7.json").attr.node;
  temp.replace(kFolder, kName, log_of("quite another text"));
  std::this_thread::sleep_for(20ms);
  find("entries");
  EXPECT_EQ(read(old), "error");
}

/// What would be in the kernel's page cache.
class Kernel {
 public:
  ReadAhead::Store store() {
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

TEST_F(ReadingTest, ReadingAheadHandsOverWhatAReadWouldGive) {
  Kernel kernel;
  ReadAhead ahead(vfs.state(), kernel.store());
  for (const char* folder : {"entries/", "text/"}) {
    const std::string suffix = folder[0] == 'e' ? ".json" : ".md";
    for (int number = 1; number <= static_cast<int>(Walks::kSure); ++number) {
      ahead.note(find(folder + std::to_string(number) + suffix).attr.node);
    }
  }
  const auto has = kernel.wait_for(2 * (Walks::kFirstCount - 1));
  ASSERT_EQ(has.size(), 2 * (Walks::kFirstCount - 1));
  for (const auto& [node, bytes] : has) {
    EXPECT_EQ(bytes, read(node)) << word_of(node) << " " << node.item();
  }
}

TEST_F(ReadingTest, ReadingAheadEndsWithTheLog) {
  Kernel kernel;
  ReadAhead ahead(vfs.state(), kernel.store());
  for (int number = kEntries - 10; number < kEntries - 7; ++number) {
    ahead.note(find("entries/" + std::to_string(number) + ".json").attr.node);
  }
  const auto has = kernel.wait_for_item(kEntries);
  ASSERT_FALSE(has.empty());
  EXPECT_EQ(has.rbegin()->first.item(), kEntries);
}

TEST_F(ReadingTest, NothingIsHandedOverOfALogThatHasJustChanged) {
  Kernel kernel;
  const NodeId first = find("entries/1.json").attr.node;
  std::ofstream(temp.log(kFolder, kName), std::ios::binary | std::ios::in).seekp(300).write("#", 1);
  {
    ReadAhead ahead(vfs.state(), kernel.store());
    for (std::uint32_t number = 0; number < Walks::kSure; ++number) {
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
