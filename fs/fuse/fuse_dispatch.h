// Turns a libfuse callback into an operation and an answer: on the request's thread if that is quick, otherwise in a
// worker pool, where its client can be killed meanwhile. Included only by the tables of operations.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/base/wanted.h"
#include "fs/control/control_file.h"
#include "fs/fuse/errno_map.h"
#include "fs/fuse/events_file.h"
#include "fs/fuse/fuse_server.h"
#include "fs/fuse/turn_wait.h"

namespace arborfs {

/// The result of an operation: a value or an errno.
template <class T>
struct Outcome {
  std::optional<T> value;
  int error = 0;
};

template <class T>
Outcome<T> outcome_of(Result<T> result) {
  return result ? Outcome<T>{std::move(*result), 0} : Outcome<T>{std::nullopt, errno_of(result.error().code)};
}

/// An exception means a bug or lack of memory; neither may pass through libfuse.
template <class T, class Work>
Outcome<T> guarded(Work& work, RequestContext& call) {
  try {
    return outcome_of<T>(work(call));
  } catch (const std::exception&) {
    return {std::nullopt, errno_of_thrown("internal error in a request")};
  }
}

/// `kOperation` in a form that libfuse may call: no exception passes through libfuse's frames. It must throw before it
/// answers, or not at all.
template <auto kOperation>
struct Callback;
template <class... Arguments, void (*kOperation)(fuse_req_t, Arguments...)>
struct Callback<kOperation> {
  static void run(fuse_req_t req, Arguments... arguments) noexcept {
    try {
      kOperation(req, arguments...);
    } catch (const std::exception&) {
      fuse_reply_err(req, errno_of_thrown("cannot serve a request"));
    }
  }
};
template <auto kOperation>
inline constexpr auto callback = &Callback<kOperation>::run;

/// `answer` throws before it answers, or not at all.
template <class T, class Answer>
void answer_with(fuse_req_t req, Outcome<T> outcome, Answer& answer) noexcept {
  try {
    if (outcome.value) {
      answer(req, std::move(*outcome.value));
      return;
    }
  } catch (const std::exception&) {
    outcome.error = errno_of_thrown("cannot answer a request");
  }
  fuse_reply_err(req, outcome.error);
}

/// The object that the kernel's file handle refers to. Requests that continue in the worker pool own the parts they
/// need.
struct FileHandle {
  OpenFilePtr file;
  std::shared_ptr<EventReader> events;
  std::shared_ptr<TurnReader> turn;
  ControlFilePtr control;
  std::mutex mutex;                  // leaf
  std::shared_ptr<PollHandle> poll;  // the newest; guarded by mutex
};

inline FileHandle& file_handle(const fuse_file_info* fi) {
  return *reinterpret_cast<FileHandle*>(fi->fh);
}

/// The value of an operation that has no other result.
struct Done {};

inline Result<Done> done_of(const Result<void>& result) {
  return result ? Result<Done>(Done{}) : Result<Done>(result.error());
}

struct FuseDispatch {
  static FuseServer& server_of(fuse_req_t req) { return *static_cast<FuseServer*>(fuse_req_userdata(req)); }
  static WriteOps* changes_of(fuse_req_t req) { return server_of(req).changes_; }
  /// The kernel has already checked the modes, but a process that may override modes passes that check; of those only
  /// root is accepted.
  static bool is_from_owner(fuse_req_t req) {
    const uid_t uid = fuse_req_ctx(req)->uid;
    return uid == ::getuid() || uid == 0;
  }
  static pid_t client_of(fuse_req_t req) { return fuse_req_ctx(req)->pid; }

  /// Runs `work` for a node and answers; if it would take long, runs it again in the worker pool, where its client can
  /// be killed. `work` gets the Vfs and a RequestContext and must not touch the request; `answer` gets the request and
  /// the value.
  template <class T, class Work, class Answer>
  static void serve(fuse_req_t req, fuse_ino_t ino, Work work, Answer answer) {
    if (!NodeId(ino).is_known()) {
      fuse_reply_err(req, ESTALE);
      return;
    }
    FuseServer& server = server_of(req);
    auto run = [work = std::move(work), vfs = &server.vfs_](RequestContext& call) { return work(*vfs, call); };
    if (const auto folder = server.vfs_.submount_of(NodeId(ino))) {
      go_on<T>(req, EndsBy::stop_signal, std::move(run), std::move(answer),
               [&](WorkerPool::Job job) { server.submount_pools_.submit(*folder, std::move(job)); });
      return;
    }
    RequestContext quick(client_of(req));
    auto outcome = guarded<T>(run, quick);
    if (!quick.is_deferred()) {
      answer_with(req, std::move(outcome), answer);
      return;
    }
    WorkerPool& pool = Vfs::reads_all_sessions(NodeId(ino)) ? server.search_pool_ : server.worker_pool_;
    go_on<T>(req, EndsBy::stop_signal, std::move(run), std::move(answer),
             [&pool](WorkerPool::Job job) { pool.submit(std::move(job)); });
  }

  /// Runs `work`, which changes something, on this thread or in the write pool. Once it writes it runs to its end even
  /// if its client is killed; before that it can check for this (core/base/wanted.h). Nothing else interrupts it, since
  /// a client that gets EINTR would write again. `held` lives until after the answer.
  template <class T, class Work, class Answer>
  static void serve_write(fuse_req_t req, Work work, Answer answer, std::shared_ptr<void> held = nullptr) {
    FuseServer& server = server_of(req);
    go_on<T>(
        req, EndsBy::kill, std::move(work),
        [answer = std::move(answer), held = std::move(held)](fuse_req_t request, T value) mutable {
          answer(request, std::move(value));
        },
        [&server](WorkerPool::Job job) {
          if (server.vfs_.state().catalog.has_submounts()) {
            server.write_pool_.submit(std::move(job));  // it may wait for a submount, and this thread serves all
          } else {
            server.write_pool_.run_or_submit(std::move(job));
          }
        });
  }
  template <class Work>
  static void serve_change(fuse_req_t req, Work work, std::shared_ptr<void> held = nullptr) {
    serve_write<Done>(
        req, [work = std::move(work)](RequestContext& call) { return done_of(work(call)); },
        [](fuse_req_t request, Done) { fuse_reply_err(request, 0); }, std::move(held));
  }

  /// Answers an open with a handle, which the kernel then owns.
  static void give(fuse_req_t req, fuse_file_info& info, std::shared_ptr<void> handle) {
    OpenHandles& handles = server_of(req).handles_;
    info.fh = handles.add(std::move(handle));
    if (fuse_reply_open(req, &info) != 0) {
      handles.take(info.fh);
    }
  }
  static std::shared_ptr<void> take_back(fuse_req_t req, const fuse_file_info& info) {
    return server_of(req).handles_.take(info.fh);
  }
  static WorkerPool& write_pool_of(fuse_req_t req) { return server_of(req).write_pool_; }
  static std::size_t longest_write_of(fuse_req_t req) { return server_of(req).longest_write_; }

 private:
  /// Whether the client still waits. The kernel reports a signal at once, but a free thread must take the report; so
  /// after kMoment the client is checked directly.
  static Wanted::Still still_waits(const std::shared_ptr<ParkedRequest>& parked) {
    constexpr std::chrono::milliseconds kMoment{5};
    return [parked, asked_at = std::chrono::steady_clock::now() + kMoment] {
      return !parked->is_over() && (std::chrono::steady_clock::now() < asked_at || !parked->end_if_stopped());
    };
  }

  template <class T, class Work, class Answer, class Submit>
  static void go_on(fuse_req_t req, EndsBy ends_by, Work work, Answer answer, Submit submit) {
    const pid_t client = client_of(req);  // another thread may answer as soon as the request is parked
    auto parked = ParkedRequest::park(req, ends_by, server_of(req).interrupts_);
    try {
      submit([work = std::move(work), answer = std::move(answer), parked, ends_by, client,
              still = still_waits(parked)](std::stop_source& stop) mutable {
        auto done = [&] {
          RequestContext slow = RequestContext::in_pool(client);
          const Wanted wanted(std::move(still));
          // A write runs to its end (serve_write).
          std::optional<ParkedRequest::Work> reading;
          if (ends_by != EndsBy::kill) {
            reading.emplace(*parked, stop);
          }
          return guarded<T>(work, slow);
        }();
        if (fuse_req_t request = parked->claim()) {
          answer_with(request, std::move(done), answer);
        }
      });
    } catch (const std::exception&) {
      parked->refuse(errno_of_thrown("cannot hand a request to another thread"));
    }
  }
};

}  // namespace arborfs
