// The request loop, over a kernel without requests. The libfuse functions that it calls are defined in this file;
// nothing else in this program calls them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include "fs/fuse/request_threads.h"

namespace {

struct Kernel {
  std::array<int, 2> requests{-1, -1};  // a pipe that is never written
  std::atomic<bool> has_exited{false};
  std::atomic<int> without_memory{0};  // how many of the next receive calls run out of memory
  std::atomic<int> inits{1};           // waiting requests: INIT and nothing else
  std::atomic<bool> refuses_init{false};
};
Kernel* kernel = nullptr;  // NOLINT: what C functions without a context see

}  // namespace

extern "C" {
int fuse_session_fd(fuse_session* /*session*/) {
  return kernel->requests[0];
}
void fuse_session_exit(fuse_session* /*session*/) {
  kernel->has_exited = true;
}
int fuse_session_exited(fuse_session* /*session*/) {
  return kernel->has_exited ? 1 : 0;
}
int fuse_session_receive_buf(fuse_session* /*session*/, fuse_buf* /*buffer*/) {
  if (kernel->without_memory > 0 && kernel->without_memory-- > 0) {
    return -ENOMEM;
  }
  return kernel->inits > 0 && kernel->inits-- > 0 ? 1 : -EAGAIN;
}
void fuse_session_process_buf(fuse_session* /*session*/, const fuse_buf* /*buffer*/) {
  if (kernel->refuses_init) {
    kernel->has_exited = true;
  }
}
}

namespace arborfs {
namespace {

class FuseRequestLoopTest : public ::testing::Test {
 protected:
  FuseRequestLoopTest() {
    EXPECT_EQ(::pipe(kernel_.requests.data()), 0);
    kernel = &kernel_;
  }
  ~FuseRequestLoopTest() override {
    kernel = nullptr;
    ::close(kernel_.requests[0]);
    ::close(kernel_.requests[1]);
  }
  int run(FuseRequestLoop& loop, unsigned threads) {
    return loop.run(threads, [this] { is_ready_ = true; });
  }
  Kernel kernel_;
  std::atomic<bool> is_ready_{false};
};

TEST_F(FuseRequestLoopTest, StopBeforeRunEndsTheLoop) {
  FuseRequestLoop loop(nullptr);
  loop.stop();
  EXPECT_EQ(run(loop, 2), 0);
  EXPECT_FALSE(is_ready_);
}

TEST_F(FuseRequestLoopTest, ReadyIsReportedAfterInit) {
  FuseRequestLoop loop(nullptr);
  EXPECT_EQ(loop.run(2,
                     [&] {
                       EXPECT_EQ(kernel_.inits, 0);
                       is_ready_ = true;
                       loop.stop();
                     }),
            0);
  EXPECT_TRUE(is_ready_);
}

TEST_F(FuseRequestLoopTest, RefusedInitFailsTheLoop) {
  FuseRequestLoop loop(nullptr);
  kernel_.refuses_init = true;
  EXPECT_EQ(run(loop, 2), -EPROTO);
  EXPECT_FALSE(is_ready_);
}

TEST_F(FuseRequestLoopTest, ContinuesAfterARequestWithoutMemory) {
  FuseRequestLoop loop(nullptr);
  kernel_.without_memory = 1;
  std::thread stopper([&] {
    while (kernel_.without_memory > 0) {
      std::this_thread::yield();
    }
    loop.stop();
  });
  EXPECT_EQ(run(loop, 1), 0);
  stopper.join();
}

}  // namespace
}  // namespace arborfs
