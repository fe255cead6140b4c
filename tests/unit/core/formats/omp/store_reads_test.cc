// How much of the logs is read to list sessions, measured by the kernel's counters for this process.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::omp {
namespace {

struct Reads {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

Reads reads_so_far() {
  Reads reads;
  std::ifstream io("/proc/self/io");
  std::string word;
  while (io >> word) {
    if (word == "rchar:") {
      io >> reads.bytes;
    } else if (word == "syscr:") {
      io >> reads.calls;
    }
  }
  return reads;
}

template <class Work>
Reads reads_of(const Work& work) {
  const Reads before = reads_so_far();
  work();
  const Reads after = reads_so_far();
  return {after.calls - before.calls, after.bytes - before.bytes};
}

constexpr std::uint64_t kFolders = 4;
constexpr std::uint64_t kLogs = 80;
constexpr std::uint64_t kHead = 4096 + 2;          // plus the mark of UTF-16
constexpr std::uint64_t kOpening = 2 * 16 * 1024;  // if the head has no title
constexpr std::uint64_t kCounting = 16 * 1024;     // reading /proc/self/io, listing folders

class StoreReads : public ::testing::Test {
 protected:
  StoreReads() {
    for (std::uint64_t i = 0; i < kLogs; ++i) {
      const std::string folder = "-f" + std::to_string(i % kFolders);
      const std::string id = "aaaa" + std::to_string(1000 + i);
      const std::string name = "2026-02-16T10-20-30-000Z_" + id;
      std::string bytes = testing::TempStore::header(id, "/home/dev/" + folder) + "\n";
      bytes += testing::TempStore::user("e1e1e1e1", "", "first words") + "\n";
      for (int entry = 0; entry < 200; ++entry) {
        bytes += testing::TempStore::user(std::to_string(10000000 + entry), "e1e1e1e1", std::string(1000, 'x')) + "\n";
      }
      store.write(folder, name, bytes);
      std::filesystem::last_write_time(store.log(folder, name),
                                       std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    }
    if (reads_of([] { reads_so_far(); }).bytes == 0) {
      counts_reads = false;  // this kernel has no task accounting
    }
  }
  testing::TempStore store;
  testing::Variable state{"XDG_STATE_HOME", store.root() + "/state"};
  bool counts_reads = true;
};

TEST_F(StoreReads, FirstScanReadsTheHeadOfEachLogOnce) {
  if (!counts_reads) {
    GTEST_SKIP() << "no /proc/self/io";
  }
  Catalog catalog(open_store(store.root()), "/home/dev");
  const Reads first = reads_of([&] { catalog.rescan(); });
  EXPECT_EQ(catalog.view()->by_id.size(), kLogs);
  EXPECT_LE(first.bytes, kLogs * kHead + kCounting);
  EXPECT_LE(first.calls, kLogs * 2 + 50);
}

TEST_F(StoreReads, RescanReadsNothingOfUnchangedLogs) {
  if (!counts_reads) {
    GTEST_SKIP() << "no /proc/self/io";
  }
  Catalog catalog(open_store(store.root()), "/home/dev");
  catalog.rescan();
  const Reads again = reads_of([&] {
    catalog.rescan();
    for (const auto& [id, session] : catalog.view()->by_id) {
      EXPECT_TRUE(session->refresh(Depth::head).has_value());
    }
  });
  EXPECT_LE(again.bytes, kCounting);
  EXPECT_LE(again.calls, 50U);
}

TEST_F(StoreReads, MovedLeavesAreReadForIndexedLogsOnly) {
  if (!counts_reads) {
    GTEST_SKIP() << "no /proc/self/io";
  }
  Catalog catalog(open_store(store.root()), "/home/dev");
  catalog.rescan();
  const auto indexed = catalog.view()->by_id.front().second;
  ASSERT_TRUE(indexed->refresh(Depth::index));
  for (const auto& [id, session] : catalog.view()->by_id) {
    KeptLeaf kept;
    {
      const auto guard = indexed->read();
      kept = {guard->index().size(), guard->index().id(guard->index().size()), guard->index().id(1)};
    }
    ASSERT_TRUE(catalog.state(0).leaves.save(session->place().file, kept, false));
  }
  const Reads moved = reads_of([&] { catalog.leaves_changed(); });
  EXPECT_LE(moved.calls, 50U);
  EXPECT_EQ(indexed->read()->leaf(), 1U);
}

TEST_F(StoreReads, LsReadsOnlyTheHeadOfLogs) {
  if (!counts_reads) {
    GTEST_SKIP() << "no /proc/self/io";
  }
  testing::FakeTerminal terminal;
  const Reads ls = reads_of([&] { EXPECT_EQ(terminal.run({"ls", "--agent-dir=" + store.root()}), 0); });
  EXPECT_NE(terminal.out.str().find("first words"), std::string::npos);
  constexpr std::uint64_t kOfProcesses = 1024 * 1024;  // names of all running processes, to find agents
  EXPECT_LE(ls.bytes, kLogs * (kHead + kOpening) + kOfProcesses);
}

}  // namespace
}  // namespace arborfs::omp
