#include "core/base/thread_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace arborfs {

namespace {

constexpr std::uint64_t kTurnNs = 100'000;

/// The kernel's `struct sched_attr`, which the C library does not declare.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  // for SCHED_OTHER: the requested time slice
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

}  // namespace

void request_short_thread_slice() {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 && attributes.policy == SCHED_OTHER) {
    attributes.runtime_ns = kTurnNs;
    ::syscall(SYS_sched_setattr, 0, &attributes, 0);
  }
}

void make_thread_idle() {
  constexpr int kThisThread = 1;       // IOPRIO_WHO_PROCESS; the C library declares none of these
  constexpr int kIdleClass = 3 << 13;  // IOPRIO_CLASS_IDLE
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
  ::syscall(SYS_ioprio_set, kThisThread, 0, kIdleClass);
}

}  // namespace arborfs
