// The queue through which a store is written (DESIGN 6): commands for one session one after the other, those that wait
// at the same time written and synced together; different sessions side by side. Bounded: who comes when too much is
// waiting waits too.
//
// Threads: any; the first that finds a session's lane free does the work for all that wait in it. Locks: mutex_ is a
// leaf, released while anything is written. A lane holds the log's lock for the write only, never across a sync.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/manager/line_batch.h"
#include "core/session/catalog.h"

namespace arborfs {

/// Which sessions a command is for, by what an agent may be doing at them (DESIGN 5).
enum class Insist : std::uint8_t { on_quiet, on_maybe_live, on_live };
constexpr Insist insist(bool force) {
  return force ? Insist::on_live : Insist::on_quiet;
}

/// What one command appends.
struct AppendRequest {
  /// Adds the command's lines, under the log's lock. Must not read the log. An error takes its lines back. Without it
  /// the command only asks whether it would be refused.
  std::function<Result<void>(LineBatch&)> plan;
  std::uint64_t bytes = 0;          // about what it will append, for the bound
  bool force = false;               // although the session may be live
  std::optional<std::string> slot;  // the title slot's line to be written with it
};

/// What a command writes that takes the place of a log, or of its name.
struct RewriteRequest {
  /// Writes the log as it is to be, from the session's state; once more when somebody else wrote meanwhile.
  std::function<Result<void>(LogDraft&)> write;
  Insist insist = Insist::on_quiet;
  /// Where the log goes; nothing: it stays.
  std::optional<LogPlace> move_to;
};

class WriteQueue {
 public:
  struct Settings {
    bool sync = true;
    bool write_live = false;
  };
  WriteQueue(Catalog& catalog, Settings settings) : catalog_(catalog), settings_(settings) {}
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// Returns when the lines are written, synced and in the session. Errors: as Writer says.
  Result<void> append(const SessionPtr& session, AppendRequest request);
  Result<void> rewrite(const SessionPtr& session, const RewriteRequest& request);
  /// Runs `work` with the log's lock held and nobody else at the session, liveness checked.
  Result<void> exclusive(const SessionPtr& session, bool force, const std::function<Result<void>(LogWriter&)>& work);
  /// What a write would be refused for now; with a lock held by another, after the wait.
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force);

 private:
  struct Waiting;
  /// What a group comes to.
  struct Lines {
    std::string text;
    EntryId last;  // the id of the last one
  };
  /// Commands one behind the other, by Waiting::next. Nothing here takes memory: who waits is always woken.
  struct Chain {
    Waiting* first = nullptr;
    Waiting* last = nullptr;
    void push(Waiting& one);
    Waiting* pop();
  };
  struct Lane {
    Chain waiting;
    bool busy = false;
  };
  static constexpr std::uint64_t kMaxWaitingBytes = 256 << 20;
  static constexpr std::uint64_t kMaxGroupBytes = 8 << 20;
  static constexpr std::size_t kMaxGroup = 1024;
  static constexpr int kTries = 4;  // when others write between our looking and our locking

  Result<void> wait_turn(const SessionPtr& session, Waiting& mine);
  /// The same for work that wants the session for itself, as rewrites do (write_queue_rewrites.cc).
  Result<void> wait_turn(const SessionPtr& session, std::function<Result<void>()> work);
  void work_off(const SessionPtr& session, Lane& lane, std::unique_lock<std::mutex>& lock);
  static Chain take_group(Lane& lane);
  void commit(const SessionPtr& session, const Chain& group);
  void commit_group(const SessionPtr& session, const Chain& group);
  Result<void> write_group(const SessionPtr& session, const std::vector<Waiting*>& group);
  Result<void> append_lines(const SessionPtr& session, LogWriter& writer, const Lines& lines,
                            const std::vector<Waiting*>& group);
  Result<void> migrate(const SessionPtr& session, const Lines& lines, const LogVersion& before, Insist insist);
  Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, Insist insist);
  void look_ahead(Insist insist) const;
  Result<void> refuse_live(const SessionPtr& session, const LogWriter& writer, Insist insist) const;
  Result<void> move_locked(const SessionPtr& session, LogWriter& writer, const LogVersion& before, LogDraft& draft,
                           const LogPlace& to);
  Result<void> rewrite_once(const SessionPtr& session, const RewriteRequest& request);
  Result<void> settle(const SessionPtr& session, LogWriter& writer, const Lines& lines);

  Catalog& catalog_;
  const Settings settings_;
  std::mutex mutex_;
  std::condition_variable room_;         // waiting_bytes_ became less
  std::map<std::uint32_t, Lane> lanes_;  // by session number; guarded by mutex_
  std::uint64_t waiting_bytes_ = 0;      // guarded by mutex_
};

}  // namespace arborfs
