// The threads other than the request threads: the slow lane, the readers of `events`, the query for the store's free
// space.
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "fs/fuse/events_file.h"
#include "fs/fuse/fuse_server.h"
#include "fs/fuse/request_threads.h"
#include "tests/support/failing_memory.h"
#include "tests/support/scarce.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;

TEST(WorkerPool, RunsSubmittedJobs) {
  std::atomic<int> done{0};
  {
    WorkerPool lane;
    for (int i = 0; i < 100; ++i) {
      lane.submit([&](std::stop_source&) { ++done; });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkerPool, StoppingCancelsAndStillRunsEveryJob) {
  std::atomic<int> cancelled{0};
  WorkerPool lane;
  for (int i = 0; i < 20; ++i) {
    lane.submit([&](std::stop_source& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(1ms);
      }
      ++cancelled;
    });
  }
  lane.stop();
  EXPECT_EQ(cancelled, 20);
  lane.submit([&](std::stop_source& stop) { cancelled += stop.stop_requested() ? 1 : 0; });
  EXPECT_EQ(cancelled, 21);
}

TEST(WorkerPool, CallerRunsTheJobWithoutThreads) {
  WorkerPool lane;
  std::thread::id worker;
  const auto job = [&](std::stop_source&) { worker = std::this_thread::get_id(); };
  {
    const testing::NoThreads scarce;
    lane.submit(job);
  }
  EXPECT_EQ(worker, std::this_thread::get_id());
  lane.submit(job);
  lane.stop();
  EXPECT_NE(worker, std::this_thread::get_id()) << "later there are threads again";
}

TEST(WorkerPool, ExistingThreadsRunTheJobWithoutNewOnes) {
  std::atomic<int> begun{0};
  std::atomic<bool> go_on{false};
  std::thread::id worker;
  WorkerPool lane;
  lane.submit([&](std::stop_source&) {
    ++begun;
    go_on.wait(false);
  });
  while (begun == 0) {
    std::this_thread::yield();
  }
  const testing::NoThreads scarce;
  lane.submit([&](std::stop_source&) { worker = std::this_thread::get_id(); });
  EXPECT_EQ(worker, std::thread::id()) << "it waits";
  go_on = true;
  go_on.notify_all();
  lane.stop();
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(WorkerPool, ThrowingJobStopsNothing) {
  std::atomic<int> done{0};
  WorkerPool lane;
  const auto broken = [](std::stop_source&) { throw std::bad_alloc(); };
  lane.submit(broken);
  lane.run_or_submit(broken);
  lane.submit([&](std::stop_source&) { ++done; });
  lane.stop();
  lane.submit(broken);
  EXPECT_EQ(done, 1);
}

TEST(ChangeFeed, ChangeWithoutMemoryIsNotPublished) {
  ChangeFeed feed;
  std::size_t told = 0;
  for (std::size_t round = 0; round < 200; ++round) {  // the feed allocates only once in many changes
    bool is_told = true;
    {
      const testing::FailingMemory memory(0);
      try {
        feed.publish({});
      } catch (const std::bad_alloc&) {
        is_told = false;
      }
    }
    told += is_told ? 1 : 0;
    ASSERT_EQ(feed.last_sequence(), told);
    if (!is_told) {
      feed.publish({});
      ++told;
    }
    const auto last = feed.after(told - 1, 10);
    ASSERT_EQ(last.size(), 1U);
    ASSERT_EQ(last.front().sequence, told);
  }
  EXPECT_GT(told, 200U - 200U / 2);
}

TEST(WorkerPool, BorrowsFewCallerThreads) {
  std::atomic<bool> go_on{false};
  std::atomic<std::size_t> here{0};
  std::atomic<std::size_t> elsewhere{0};
  WorkerPool lane;
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < WorkerPool::kBorrowed; ++i) {
    callers.emplace_back([&] {
      lane.run_or_submit([&, caller = std::this_thread::get_id()](std::stop_source&) {
        here += std::this_thread::get_id() == caller ? 1 : 0;
        go_on.wait(false);
      });
    });
  }
  while (here < WorkerPool::kBorrowed) {
    std::this_thread::yield();
  }
  lane.run_or_submit([&, caller = std::this_thread::get_id()](std::stop_source&) {
    elsewhere += std::this_thread::get_id() == caller ? 0 : 1;
  });
  while (elsewhere == 0) {
    std::this_thread::yield();
  }
  go_on = true;
  go_on.notify_all();
  for (auto& caller : callers) {
    caller.join();
  }
  lane.run_or_submit([&, caller = std::this_thread::get_id()](std::stop_source&) {
    here += std::this_thread::get_id() == caller ? 1 : 0;
  });
  EXPECT_EQ(here, WorkerPool::kBorrowed + 1) << "a thread is given back";
}

Change appended(Ordinal last) {
  Change change;
  change.kind = Change::Kind::session_appended;
  change.session = 1;
  change.session_id = "s";
  change.first = change.last = last;
  return change;
}

class Noted final : public EventsFile::Waiter {
 public:
  Noted(EventsFile& events, std::shared_ptr<EventReader> reader) : events_(events), reader_(std::move(reader)) {}
  bool wake(bool closing) override {
    if (!closing && !events_.has_some(*reader_)) {
      return false;
    }
    closed = closing;
    over = true;
    return true;
  }
  [[nodiscard]] bool is_over() const override { return over; }
  [[nodiscard]] bool wait() const {
    for (int i = 0; i < 2000 && !over; ++i) {
      std::this_thread::sleep_for(1ms);
    }
    return over;
  }
  std::atomic<bool> over{false};
  std::atomic<bool> closed{false};

 private:
  EventsFile& events_;
  std::shared_ptr<EventReader> reader_;
};

class EventsTest : public ::testing::Test {
 protected:
  ~EventsTest() override {
    feed.close();
    events.close();
  }
  ChangeFeed feed;
  EventsFile events{feed};
};

TEST_F(EventsTest, ReaderSeesEventsAfterItsOpen) {
  feed.publish(appended(1));
  const auto reader = events.open();
  EXPECT_EQ(events.read(*reader, 0, 4096), "");
  feed.publish(appended(2));
  const std::string line = events.read(*reader, 0, 4096);
  EXPECT_NE(line.find("\"seq\":2"), std::string::npos) << line;
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(events.read(*reader, line.size(), 4096), "");
  EXPECT_TRUE(events.is_stream(*reader));
}

TEST_F(EventsTest, SmallReadsReturnPiecesOfALine) {
  const auto reader = events.open();
  feed.publish(appended(1));
  std::string text;
  for (std::string piece; !(piece = events.read(*reader, text.size(), 7)).empty();) {
    text += piece;
  }
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(text.back(), '\n');
}

// A shell reads a block, keeps its first line and seeks back to the second.
TEST_F(EventsTest, ReaderMaySeekBackToALineEnd) {
  const auto reader = events.open();
  feed.publish(appended(1));
  const std::size_t first = events.read(*reader, 0, 4096).size();
  feed.publish(appended(2));
  const std::string both = events.read(*reader, 0, 4096);
  EXPECT_EQ(events.read(*reader, first, 4096), both.substr(first));
}

TEST_F(EventsTest, SlowReaderLearnsHowManyEventsItMissed) {
  const auto reader = events.open();
  for (Ordinal i = 1; i <= ChangeFeed::kKept + 5; ++i) {
    feed.publish(appended(i));
  }
  const std::string text = events.read(*reader, 0, 64);
  EXPECT_NE(text.find("\"missed\",\"count\":5"), std::string::npos) << text;
}

// Meanwhile another reader has made the file take in the text.
TEST_F(EventsTest, MissedEventsAreReportedOnALineOfTheirOwn) {
  const auto reader = events.open();
  const auto other = events.open();
  events.read_as_file(*other);
  feed.publish(appended(1));
  std::string text = events.read(*reader, 0, 10);
  for (Ordinal i = 2; i <= ChangeFeed::kKept + 5; ++i) {
    feed.publish(appended(i));
    events.size();
  }
  for (std::string piece; !(piece = events.read(*reader, text.size(), 50)).empty();) {
    text += piece;
  }
  EXPECT_EQ(text.substr(10, 31), "\n{\"event\":\"missed\",\"count\":5}\n{");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + static_cast<std::ptrdiff_t>(ChangeFeed::kKept));
  EXPECT_FALSE(events.has_some(*reader));
}

TEST_F(EventsTest, ReaderThatSeeksToTheEndReadsAFile) {
  feed.publish(appended(1));
  auto reader = events.open();
  EXPECT_EQ(events.size(), 0U);
  events.read_as_file(*reader);
  const std::uint64_t size = events.size();
  EXPECT_FALSE(events.is_stream(*reader));
  EXPECT_EQ(events.read(*reader, 0, 4096).size(), size);
  EXPECT_EQ(events.read(*reader, size, 4096), "");
  feed.publish(appended(2));
  EXPECT_EQ(events.read(*reader, size, 4096).size(), events.size() - size);
  reader.reset();
  EXPECT_EQ(events.size(), 0U);
}

TEST_F(EventsTest, DroppedLinesOfTheFileReadAsBlankLines) {
  const auto reader = events.open();
  events.read_as_file(*reader);
  std::uint64_t last = 0;
  for (Ordinal i = 1; i <= ChangeFeed::kKept + 5; ++i) {
    feed.publish(appended(i));
    last = events.size();
  }
  const std::string text = events.read(*reader, 0, last);
  EXPECT_EQ(text.find_first_not_of('\n'), std::string::npos);
  const std::string rest = events.read(*reader, text.size(), last);
  EXPECT_EQ(text.size() + rest.size(), last);
  EXPECT_NE(rest.find("{\"seq\":6,"), std::string::npos);
}

TEST_F(EventsTest, ChangeWakesAParkedReader) {
  const auto reader = events.open();
  const auto waiter = std::make_shared<Noted>(events, reader);
  events.park(waiter);
  EXPECT_FALSE(waiter->over);
  feed.publish(appended(1));
  EXPECT_TRUE(waiter->wait());
  EXPECT_FALSE(waiter->closed);
}

TEST_F(EventsTest, ParkingSeesAnEventPublishedJustBefore) {
  const auto reader = events.open();
  feed.publish(appended(1));
  const auto waiter = std::make_shared<Noted>(events, reader);
  events.park(waiter);
  EXPECT_TRUE(waiter->wait());
}

TEST_F(EventsTest, HangUpEndsEveryWait) {
  const auto reader = events.open();
  const auto waiter = std::make_shared<Noted>(events, reader);
  events.park(waiter);
  events.hang_up();
  EXPECT_TRUE(waiter->closed);
  const auto late = std::make_shared<Noted>(events, reader);
  events.park(late);
  EXPECT_TRUE(late->closed);
}

TEST(StoreSpaceTest, NearestExistingFolderIsMeasured) {
  struct statvfs root {};
  ASSERT_EQ(::statvfs("/", &root), 0);
  EXPECT_EQ(space_of("/no/such/folder").f_blocks, root.f_blocks);
  EXPECT_EQ(space_of("").f_blocks, 0U);
}

TEST(StoreSpaceTest, HungFileSystemBlocksNoFurtherRequest) {
  std::promise<void> hang;
  const auto asked = std::make_shared<std::atomic<int>>(0);
  StoreSpace space([end = hang.get_future().share(), asked] {
    ++*asked;
    end.wait();
    struct statvfs found {};
    found.f_blocks = 7;
    return found;
  });
  EXPECT_EQ(space.now().f_blocks, 0U);
  EXPECT_EQ(space.now().f_blocks, 0U);
  EXPECT_EQ(*asked, 1);
  hang.set_value();
  while (space.now().f_blocks != 7) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace arborfs
