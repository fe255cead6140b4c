// Who looks whether a log is open for writing keeps nobody from writing to it (FIELD-FAILURES 0.2).
#include "core/env/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <new>
#include <thread>

#include "core/env/disk.h"
#include "tests/support/failing_memory.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() { ::signal(SIGIO, SIG_IGN); }
  static Dir with_log(const testing::TempStore& temp) {
    temp.write("f", "log", "line\n");
    return *Dir::open_root((temp.sessions() / "f").string());
  }
  const testing::TempStore temp_;
  const Dir folder_ = with_log(temp_);
  const File file_ = *File::open_in(folder_, "log.jsonl");
};

TEST_F(ProcessesTest, AnOpenForWritingWaitsForALeaseToGo) {
  if (::fcntl(file_.fd(), F_SETLEASE, F_RDLCK) != 0) {
    GTEST_SKIP() << "no leases here";
  }
  std::thread looker([this] {
    std::this_thread::sleep_for(20ms);
    ::fcntl(file_.fd(), F_SETLEASE, F_UNLCK);
  });
  const auto opened = Disk::real().open_append(folder_, "log.jsonl");
  looker.join();
  EXPECT_TRUE(opened) << opened.error().message;
}

TEST_F(ProcessesTest, ALeaseThatStaysIsBusyNotBroken) {
  if (::fcntl(file_.fd(), F_SETLEASE, F_RDLCK) != 0) {
    GTEST_SKIP() << "no leases here";
  }
  EXPECT_EQ(Disk::real().open_append(folder_, "log.jsonl").error().code, Errc::busy);
}

TEST_F(ProcessesTest, WhoHasItOpenForAMomentOnlyIsNotToldOf) {
  EXPECT_FALSE(is_open_for_writing(file_, 0ms));
  auto writer = Disk::real().open_append(folder_, "log.jsonl");
  ASSERT_TRUE(writer);
  EXPECT_TRUE(is_open_for_writing(file_, 10ms));
  std::thread closer([&] {
    std::this_thread::sleep_for(10ms);
    writer->reset();
  });
  EXPECT_FALSE(is_open_for_writing(file_, 5s));
  closer.join();
}

TEST_F(ProcessesTest, WhenMemoryRunsOutWhileAgentsAreLookedForTheCallerIsTold) {
  bool has_failed = true;
  for (std::size_t skipped = 0; has_failed; ++skipped) {
    const testing::FailingMemory memory(skipped);
    try {
      find_agents();
      EXPECT_FALSE(memory.has_failed()) << "allocation " << skipped;
    } catch (const std::bad_alloc&) {
    }
    has_failed = memory.has_failed();
  }
}

TEST_F(ProcessesTest, WhatStopsBeingSeenDoesNotLast) {
  int looks = 0;
  EXPECT_FALSE(is_lasting([&] { return ++looks < 3; }, 5s));
  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(is_lasting([] { return true; }, 3ms));
}

}  // namespace
}  // namespace arborfs
