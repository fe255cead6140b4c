// A helper starts on a different processor from its creator's and is not bound to one.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "core/base/threads.h"

namespace arborfs {
namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

/// Pins the calling thread to one processor while the object exists.
class Pinned {
 public:
  explicit Pinned(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(processor), &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~Pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_ = allowed();
};

TEST(HelperThread, RunsBesideABusyCreator) {
  if (cpu_set_t all = allowed(); CPU_COUNT(&all) < 2) {
    GTEST_SKIP() << "needs two processors";
  }
  std::atomic<bool> begun{false};
  const HelperThread helper([&] { begun = true; });
  while (!begun) {  // no pause: no other thread runs on this processor before the clock's tick
  }
}

TEST(HelperThread, HasTheAffinityOfItsCreator) {
  cpu_set_t mine = allowed();
  cpu_set_t its;
  CPU_ZERO(&its);
  {
    const HelperThread helper([&] { its = allowed(); });
  }
  EXPECT_TRUE(CPU_EQUAL(&mine, &its));
}

TEST(HelperThread, DropsOnlyWorkThatHasNotBegun) {
  std::atomic<int> begun{0};
  int dropped = 0;
  constexpr int kRounds = 200;
  for (int i = 0; i < kRounds; ++i) {
    HelperThread helper([&] { ++begun; });
    if (i % 2 == 0) {
      while (begun + dropped == i) {
      }
      EXPECT_FALSE(helper.drop_unless_begun());
    } else {
      dropped += helper.drop_unless_begun() ? 1 : 0;
    }
  }
  EXPECT_EQ(begun + dropped, kRounds) << "each ran or was dropped";
}

TEST(HelperThread, DropsWorkForWhichNoProcessorIsFree) {
  const Pinned pinned(::sched_getcpu());  // the helper starts here too, after this thread's turn
  std::atomic<bool> has_run{false};
  bool is_dropped = false;
  for (int i = 0; i < 100 && !is_dropped; ++i) {
    has_run = false;
    HelperThread helper([&] { has_run = true; });
    is_dropped = helper.drop_unless_begun();
  }
  EXPECT_TRUE(is_dropped);
  EXPECT_FALSE(has_run);
}

TEST(HelperThread, StartsOnASingleProcessor) {
  const Pinned pinned(::sched_getcpu());
  bool has_run = false;
  {
    const HelperThread helper([&] { has_run = true; });
  }
  EXPECT_TRUE(has_run);
}

}  // namespace
}  // namespace arborfs
