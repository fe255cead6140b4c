// The file `wait` of a session: a read returns when the turn in progress has ended, with one line that says how. While
// it waits it has no thread: EventsFile wakes it at each change and each second, and it then looks in a worker pool,
// where a store that hangs holds up no other reader. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/views/turn_state.h"
#include "fs/fuse/events_file.h"
#include "fs/fuse/fuse_request.h"
#include "fs/fuse/request_threads.h"

namespace arborfs {

/// One open `wait`. What ended the turn is asked once: later reads have the same line.
class TurnReader {
 public:
  /// `look` tells how the turn stands now, in a job that `submit` hands to a pool. Both outlive all waits.
  struct Calls {
    std::function<Result<TurnState>()> look;
    std::function<void(WorkerPool::Job)> submit;
  };
  explicit TurnReader(Calls calls) : calls_(std::move(calls)) {}

  /// The line, or why the turn could not be looked at; nothing as long as it is not known to have ended.
  [[nodiscard]] std::optional<Result<std::string>> text() const;
  /// Looks in a pool, one look at a time, and calls `then` after it, if it is the one that looks. `self` is this.
  static void start_look(const std::shared_ptr<TurnReader>& self, std::function<void()> then = nullptr);

 private:
  void look() noexcept;
  const Calls calls_;
  std::atomic<bool> is_looking_{false};
  mutable std::mutex mutex_;                 // leaf
  std::optional<Result<std::string>> text_;  // guarded by mutex_
};

/// What waits for the end of a turn: a read or a poll.
class TurnWaiter : public EventsFile::Waiter, public std::enable_shared_from_this<TurnWaiter> {
 public:
  explicit TurnWaiter(std::shared_ptr<TurnReader> reader) : reader_(std::move(reader)) {}
  bool wake(bool closing) final;

 protected:
  /// The turn has ended, could not be looked at, or the mount ends ("").
  virtual void answer(const Result<std::string>& text) = 0;

 private:
  const std::shared_ptr<TurnReader> reader_;
};

/// Answers a read when the turn has ended, the mount ends, or the client gets any signal, as with a pipe.
void park_turn_read(fuse_req_t req, EventsFile& events, std::shared_ptr<TurnReader> reader, std::uint64_t offset,
                    std::size_t size, InterruptWatch& watch);

/// A poll of `wait`, which notifies once.
class TurnPoll final : public TurnWaiter {
 public:
  TurnPoll(std::shared_ptr<TurnReader> reader, std::shared_ptr<PollHandle> handle)
      : TurnWaiter(std::move(reader)), handle_(std::move(handle)) {}
  [[nodiscard]] bool is_over() const override { return handle_->is_over(); }

 protected:
  void answer(const Result<std::string>& /*text*/) override { handle_->notify(); }

 private:
  const std::shared_ptr<PollHandle> handle_;
};

}  // namespace arborfs
