#include "core/base/threads.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/cancellation.h"

namespace arborfs {

namespace {

/// The processors that the calling thread may run on; nullopt if the machine has more than a cpu_set_t holds.
std::optional<cpu_set_t> allowed_processors() {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::optional(allowed) : std::nullopt;
}

/// `allowed` without the calling thread's current processor; nullopt if none would be left.
std::optional<cpu_set_t> other_processors(cpu_set_t allowed) {
  const int here = ::sched_getcpu();
  if (here < 0) {
    return std::nullopt;
  }
  CPU_CLR(static_cast<unsigned>(here), &allowed);
  return CPU_COUNT(&allowed) != 0 ? std::optional(allowed) : std::nullopt;
}

class Attributes {
 public:
  Attributes() { ::pthread_attr_init(&attributes_); }
  ~Attributes() { ::pthread_attr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void begin_on(const cpu_set_t& processors) {
    ::pthread_attr_setaffinity_np(&attributes_, sizeof processors, &processors);
  }
  [[nodiscard]] const pthread_attr_t* get() const { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

}  // namespace

struct HelperThread::Task {
  enum class State : std::uint8_t { waits, begun, dropped };
  std::function<void()> work;
  std::optional<cpu_set_t> allowed;
  const std::stop_token stop = Cancellation::token();
  std::atomic<State> state{State::waits};

  Task(std::function<void()> its_work, std::optional<cpu_set_t> processors)
      : work(std::move(its_work)), allowed(processors) {}
  bool leave_wait(State next) {
    State waits = State::waits;
    return state.compare_exchange_strong(waits, next);
  }

  /// `given` points to a reference to the task, which it deletes.
  static void* run(void* given) {
    const std::unique_ptr<const std::shared_ptr<Task>> task(static_cast<const std::shared_ptr<Task>*>(given));
    Task& self = **task;
    if (!self.leave_wait(State::begun)) {
      return nullptr;
    }
    if (self.allowed) {
      ::sched_setaffinity(0, sizeof *self.allowed, &*self.allowed);
    }
    const Cancellation cancellation(self.stop);
    self.work();
    return nullptr;
  }
};

HelperThread::HelperThread(std::function<void()> work)
    : task_(std::make_shared<Task>(std::move(work), allowed_processors())) {
  const auto others = task_->allowed ? other_processors(*task_->allowed) : std::nullopt;
  Attributes elsewhere;
  if (others) {
    elsewhere.begin_on(*others);
  }
  auto given = std::make_unique<std::shared_ptr<Task>>(task_);
  int failed = ::pthread_create(&thread_, elsewhere.get(), Task::run, given.get());
  if (failed != 0 && others) {  // for example, the process may no longer use those processors
    failed = ::pthread_create(&thread_, nullptr, Task::run, given.get());
  }
  if (failed != 0) {
    throw std::system_error(failed, std::generic_category(), "start a thread");
  }
  static_cast<void>(given.release());
}

bool HelperThread::drop_unless_begun() {
  if (!is_dropped_ && task_->leave_wait(Task::State::dropped)) {
    ::pthread_detach(thread_);
    is_dropped_ = true;
  }
  return is_dropped_;
}

HelperThread::~HelperThread() {
  if (!is_dropped_) {
    ::pthread_join(thread_, nullptr);
  }
}

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
