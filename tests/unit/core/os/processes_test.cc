// A check whether a log is open for writing prevents no program from writing it (FAILURES.md P1).
#include "core/os/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "core/formats/omp/store/log_change.h"
#include "core/os/disk.h"
#include "tests/support/child.h"
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

TEST_F(ProcessesTest, OpenForWritingWaitsForALease) {
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

TEST_F(ProcessesTest, HeldLeaseIsReportedAsBusy) {
  if (::fcntl(file_.fd(), F_SETLEASE, F_RDLCK) != 0) {
    GTEST_SKIP() << "no leases here";
  }
  EXPECT_EQ(Disk::real().open_append(folder_, "log.jsonl").error().code, Errc::busy);
}

TEST_F(ProcessesTest, BriefWriterIsNotReported) {
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

/// While the object exists this thread cannot take a lease on other users' files.
class NoLeases {
 public:
  NoLeases() {
    ::syscall(SYS_capget, &header_, before_.data());
    auto without = before_;
    without[0].effective &= ~(1U << CAP_LEASE);
    ::syscall(SYS_capset, &header_, without.data());
  }
  ~NoLeases() { ::syscall(SYS_capset, &header_, before_.data()); }
  NoLeases(const NoLeases&) = delete;
  NoLeases& operator=(const NoLeases&) = delete;

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> before_{};
};

TEST_F(ProcessesTest, DescriptorsAreExaminedWithoutLeases) {
  const std::string path = temp_.sessions() / "f" / "log.jsonl";
  if (::chown(path.c_str(), 12345, 12345) != 0) {
    GTEST_SKIP() << "needs root";
  }
  const NoLeases no_leases;
  if (::fcntl(file_.fd(), F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(file_.fd(), F_SETLEASE, F_UNLCK);
    GTEST_SKIP() << "leases cannot be had taken away here";
  }
  {
    const testing::Child reader(::pause);
    EXPECT_FALSE(is_open_for_writing(file_, 0ms));
  }
  auto writer = Disk::real().open_append(folder_, "log.jsonl");
  ASSERT_TRUE(writer);
  const testing::Child holder(::pause);
  writer->reset();
  EXPECT_TRUE(is_open_for_writing(file_, 0ms));
}

TEST_F(ProcessesTest, LookForProgramsReportsOutOfMemory) {
  bool has_failed = true;
  for (std::size_t skipped = 0; has_failed; ++skipped) {
    const testing::FailingMemory memory(skipped);
    try {
      running_programs(0ms);
      EXPECT_FALSE(memory.has_failed()) << "allocation " << skipped;
    } catch (const std::bad_alloc&) {
    }
    has_failed = memory.has_failed();
  }
}

TEST_F(ProcessesTest, ZombieIsDeadAndHoldsNoLock) {
  const std::string path = (temp_.sessions() / "f").string();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const testing::Child owner([&] {
    const auto lock = omp::FileLock::take(Disk::real(), folder_, path, "log.jsonl");
    if (lock && ::write(ends[1], "x", 1) == 1) {
      ::pause();
    }
  });
  char taken = 0;
  ASSERT_EQ(::read(ends[0], &taken, 1), 1);
  const long holder = omp::lock_file_pid(folder_, "log.jsonl");
  EXPECT_TRUE(is_process_alive(holder));
  EXPECT_EQ(omp::FileLock::take(Disk::real(), folder_, path, "log.jsonl", 0ms).error().code, Errc::busy);
  ::kill(static_cast<pid_t>(holder), SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(holder), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(is_process_alive(holder));
  EXPECT_TRUE(omp::FileLock::take(Disk::real(), folder_, path, "log.jsonl", 0ms));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(ProcessesTest, ProcessWithoutItsFirstThreadIsAlive) {
  const testing::Child process([] {
    std::thread(::pause).detach();
    ::syscall(SYS_exit, 0);
  });
  std::string stat;
  while (stat.find(") Z ") == std::string::npos) {
    std::ifstream file("/proc/" + std::to_string(process.pid()) + "/stat");
    ASSERT_TRUE(std::getline(file, stat));
  }
  EXPECT_TRUE(is_process_alive(process.pid()));
}

TEST_F(ProcessesTest, OnlyLocksOfOtherProcessesAreReported) {
  const std::string path = temp_.root() + "/";
  const auto lock = [&](const std::string& name) {
    const int fd = ::open((path + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? fd : -1;
  };
  const auto is_locked = [&](const std::string& name) {
    return inodes_flocked_elsewhere().contains(Dir::stat_root(path + name)->ino);
  };
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  {
    const testing::Child child([&] {
      const char byte = lock("theirs") >= 0 ? 'y' : 'n';
      static_cast<void>(!::write(ready[1], &byte, 1));
      ::pause();
    });
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ASSERT_EQ(byte, 'y');
    const UniqueFd own(lock("own"));
    ASSERT_TRUE(own);
    EXPECT_TRUE(is_locked("theirs"));
    EXPECT_FALSE(is_locked("own"));
    EXPECT_TRUE(flock_holder_elsewhere(*Dir::stat_root(path + "theirs")));
  }
  EXPECT_FALSE(is_locked("theirs"));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(ProcessesTest, BriefConditionIsNotLasting) {
  int looks = 0;
  EXPECT_FALSE(is_lasting([&] { return ++looks < 3; }, 5s));
  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(is_lasting([] { return true; }, 3ms));
}

}  // namespace
}  // namespace arborfs
