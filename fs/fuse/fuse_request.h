// Kernel requests that are answered later, from another thread, or that end because their client was killed. Only this
// file, events_file.cc, fuse_* and request_threads.cc use libfuse.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace arborfs {

class InterruptWatch;

/// Which signals to the client end a wait with EINTR: any, as for a pipe; those that ask the client to stop; or only
/// those that kill it, by SIGKILL or by their default action.
enum class EndsBy { any_signal, stop_signal, kill };

/// A request that is answered either with its result or, because of a signal to its client, with EINTR. Thread-safe.
///
/// libfuse calls the interrupt function with its own lock of the request held, so that lock comes before mutex_, and no
/// libfuse call that takes it is made with mutex_ held.
class ParkedRequest : public std::enable_shared_from_this<ParkedRequest> {
 public:
  /// From here on `request` may be answered only through claim(). `watch` outlives all requests.
  static std::shared_ptr<ParkedRequest> park(fuse_req_t request, EndsBy ends_by, InterruptWatch& watch);
  ParkedRequest(fuse_req_t request, EndsBy ends_by, InterruptWatch& watch)
      : request_(request), ends_by_(ends_by), watch_(watch) {}

  /// During its life, a stop is requested of `stop` when the request is answered because of a signal: nobody waits for
  /// the work any more.
  class Work {
   public:
    Work(ParkedRequest& request, std::stop_source& stop);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    ParkedRequest& request_;
  };

  /// The request, which the caller must answer, or null if it was answered already.
  fuse_req_t claim();
  /// Answers with an errno unless the request was answered already.
  void refuse(int error);
  [[nodiscard]] bool is_over() const;
  /// Answers EINTR if the client has to stop. True if the request is over.
  bool end_if_stopped() { return end_if_stopped(Caller::anyone); }

 private:
  enum class Caller { anyone, interrupt_function };
  static void on_interrupt(fuse_req_t request, void* data);
  void interrupted(Caller caller) noexcept;
  bool end_if_stopped(Caller caller);
  void answer_interrupted(Caller caller);
  fuse_req_t take();

  mutable std::mutex mutex_;
  fuse_req_t request_;                // null once answered; guarded by mutex_
  std::stop_source* work_ = nullptr;  // of the Work that lives; guarded by mutex_
  bool registered_ = false;           // guarded by mutex_
  bool early_ = false;                // interrupted before it was registered; guarded by mutex_
  const EndsBy ends_by_;
  InterruptWatch& watch_;
};

/// Keeps checking requests whose client got a signal that does not end them: the kernel does not report the next
/// signal, which may be deadly. Its thread starts with the first such request. Thread-safe.
class InterruptWatch {
 public:
  InterruptWatch() = default;
  /// As stop().
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Throws std::system_error if no thread can be started.
  void add(std::weak_ptr<ParkedRequest> request);
  void stop();

 private:
  void run();
  static bool is_done(const std::weak_ptr<ParkedRequest>& weak);
  void keep(const std::vector<std::weak_ptr<ParkedRequest>>& looked_at);
  std::mutex mutex_;  // leaf
  std::condition_variable wake_;
  std::vector<std::weak_ptr<ParkedRequest>> requests_;  // guarded by mutex_
  bool stopping_ = false;                               // guarded by mutex_
  std::thread thread_;
};

/// True if the thread `tid` has a pending signal, which it does not block, that asks it to stop (KILL, INT, TERM, HUP,
/// QUIT), if it is gone, or if it cannot be seen from here. Reads /proc; false if no descriptors are left for that, so
/// ask again later. Any thread.
bool is_asked_to_stop(pid_t tid);

/// True if the process of `tid` is being killed or is gone. A deadly signal without a handler shows as SIGKILL. False
/// for a client without a number here (from another pid namespace).
bool is_killed(pid_t tid);

}  // namespace arborfs
