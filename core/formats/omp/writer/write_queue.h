// The queue for all writes to a store (CONTRACT.md 6.8). Commands for one session run one after the other; those that
// wait at the same time are written and synced together. Different sessions run in parallel. The queue is bounded: a
// caller waits while too much is queued.
//
// Threads: any; the first that finds a session's queue free does the work for the commands that wait in it. Locks:
// mutex_ is a leaf lock, released during writes. A queue holds the log's lock for the write only, never across a sync.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/wanted.h"
#include "core/formats/omp/store/late_lines.h"
#include "core/formats/omp/writer/append_batch.h"
#include "core/formats/omp/writer/log_rewrite.h"
#include "core/session/catalog.h"

namespace arborfs {

class AgentLook;

/// Which sessions a command may write to, by what an agent may be doing with them (CONTRACT.md 5.4).
enum class LivePolicy : std::uint8_t { on_quiet, on_maybe_live, on_live };
constexpr LivePolicy live_policy(bool force) {
  return force ? LivePolicy::on_live : LivePolicy::on_quiet;
}

/// The outcome of a command that was not started because the program that wrote it is gone.
inline Error nobody_waits() {
  return {Errc::interrupted, "the writing program was killed before its text was written"};
}

/// The append of one command.
struct AppendRequest {
  /// Adds the command's lines. Called under the log's lock; must not read the log. If it fails, its lines are taken
  /// back. Null: the command only asks whether it would be refused.
  std::function<Result<void>(AppendBatch&)> plan;
  std::uint64_t bytes = 0;          // approximate size of the append, for the bound
  bool force = false;               // even if the session may be live
  std::optional<std::string> slot;  // the title slot's line, to be written with the append
};

/// A command that replaces a log or moves it.
struct RewriteRequest {
  /// Writes the new log from the session's state. Called again if another program wrote meanwhile.
  std::function<Result<CopiedLog>(LogDraft&)> write;
  LivePolicy policy = LivePolicy::on_quiet;
  /// The log's new place; not set if it stays.
  std::optional<LogPlace> move_to;
  Wanted::Still is_wanted = Wanted::here();
};

class WriteQueue {
 public:
  struct Settings {
    bool sync = true;
    bool write_live = false;
  };
  /// How long appends share a look for agents: less than an agent needs to start and to load a session.
  static constexpr std::chrono::milliseconds kLookServes{4};

  WriteQueue(Catalog& catalog, Settings settings) : catalog_(catalog), settings_(settings) {}
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// Returns when the lines are written, synced and in the session. Errors: as for Writer.
  Result<void> append(const SessionPtr& session, AppendRequest request);
  Result<void> rewrite(const SessionPtr& session, const RewriteRequest& request);
  /// Runs `work` with the log's lock held, no other command on the session, and liveness checked.
  Result<void> exclusive(const SessionPtr& session, bool force, const std::function<Result<void>(LogWriter&)>& work);
  /// Cuts off the partial appends that killed processes left, in all sessions that no agent holds. Call it when the
  /// process begins to write; every write also checks its own log.
  void take_back_parts();
  /// Fails as a write would fail now. If another process holds the log's lock, waits for it first.
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force);

 private:
  void take_back_parts_in(std::uint8_t store);
  struct Waiting;
  /// The lines that a group of commands writes.
  struct Lines {
    std::string text;
    EntryId last;                          // the id of the last line
    std::size_t lead = 0;                  // bytes of the text that only separate it from the log's end
    std::string slot;                      // the title slot to write with the lines, "" for none
    std::shared_ptr<const LogSource> log;  // the log that the lines were made for
    bool migrates = false;                 // that log is of an old version
    std::uint64_t size = 0;                // of that log
  };
  /// Commands linked by Waiting::next. Nothing here allocates, so that every waiting thread is woken.
  struct Chain {
    Waiting* first = nullptr;
    Waiting* last = nullptr;
    void push(Waiting& one);
    Waiting* pop();
  };
  struct SessionQueue {
    Chain waiting;
    bool busy = false;
  };
  static constexpr std::uint64_t kMaxWaitingBytes = 256 << 20;
  static constexpr std::uint64_t kMaxGroupBytes = 8 << 20;
  static constexpr std::size_t kMaxGroup = 1024;
  static constexpr int kTries = 4;  // attempts when other programs write between the refresh and the lock

  Result<void> wait_turn(const SessionPtr& session, Waiting& mine);
  /// The same for work that needs the session to itself, such as a rewrite (write_queue_rewrites.cc).
  Result<void> wait_turn(const SessionPtr& session, std::function<Result<void>()> work);
  void work_off(const SessionPtr& session, SessionQueue& queue, std::unique_lock<std::mutex>& lock);
  static Chain take_group(SessionQueue& queue);
  void commit(const SessionPtr& session, const Chain& group);
  void commit_group(const SessionPtr& session, const Chain& group);
  Result<void> write_group(const SessionPtr& session, const std::vector<Waiting*>& group);
  Result<void> put_lines(const SessionPtr& session, std::unique_ptr<LogWriter> writer, Lines& lines, LivePolicy policy);
  Result<void> append_lines(const SessionPtr& session, LogWriter& writer, Lines& lines);
  Result<void> append_and_overwrite(const SessionPtr& session, LogWriter& writer, const Lines& lines);
  bool take_back_part(const SessionPtr& session, LogWriter& writer);
  Result<void> rewrite_with(const SessionPtr& session, std::unique_ptr<LogWriter> writer, const Lines& lines,
                            LivePolicy policy);
  Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, LivePolicy policy);
  [[nodiscard]] std::shared_ptr<const AgentLook> look_ahead(const Session& session, LivePolicy policy) const;
  [[nodiscard]] std::shared_ptr<const AgentLook> recent_look(const SessionStore& store) const;
  Result<void> refuse_live(const SessionPtr& session, const LogWriter& writer, const AgentLook* look,
                           LivePolicy policy) const;
  void note_own_write(const SessionPtr& session, const FileStat& before, const Result<FileStat>& after);
  Result<void> move_locked(const SessionPtr& session, LogWriter& writer, const LogVersion& before, LogDraft& draft,
                           const LogPlace& to, LateLines& late);
  Result<void> carry_strays(SessionStore& store, const LogPlace& from, const LogPlace& to);
  Result<void> put_in_place(const SessionPtr& session, LogWriter& writer, LogDraft& draft, bool may_grow,
                            const LogVersion& before, const std::optional<LogPlace>& move_to, LateLines& late);
  Result<void> settle_rewrite(const SessionPtr& session, LogWriter& writer, const Lines& lines, LateLines& late);
  Result<void> rewrite_once(const SessionPtr& session, const RewriteRequest& request);
  Result<void> settle(const SessionPtr& session, LogWriter& writer, const Lines& lines);

  Catalog& catalog_;
  const Settings settings_;
  std::mutex mutex_;
  std::condition_variable room_;                  // waiting_bytes_ decreased
  std::map<std::uint32_t, SessionQueue> queues_;  // by session number; guarded by mutex_
  std::uint64_t waiting_bytes_ = 0;               // guarded by mutex_
  /// The last look for agents.
  struct RecentLook {
    const SessionStore* store = nullptr;
    std::chrono::steady_clock::time_point time{};
    std::shared_ptr<const AgentLook> look;
  };
  mutable std::mutex look_mutex_;                // leaf
  mutable RecentLook look_;                      // guarded by look_mutex_
  mutable std::atomic<bool> agents_run_{false};  // at the last check
};

}  // namespace arborfs
