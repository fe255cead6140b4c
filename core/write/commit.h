// The one place that changes a session (CONTRACT.md 6): look for agents, lock, cut off the part of a killed append,
// read what is new, plan, write, release, sync, read back, acknowledge. A format describes its part of it in an Editor:
// its lock, and what commands become. Commands for one session run one after the other; those that wait at the same
// time are planned, written and synced together. Different sessions run in parallel.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/wanted.h"
#include "core/session/catalog.h"
#include "core/session/liveness.h"
#include "core/store/log_writer.h"

namespace arborfs {

/// Which sessions a command may write to, by what an agent may be doing with them (CONTRACT.md 5.4).
enum class LivePolicy : std::uint8_t { on_quiet, on_maybe_live, on_live };
constexpr LivePolicy live_policy(bool force) {
  return force ? LivePolicy::on_live : LivePolicy::on_quiet;
}

/// The outcome of a command that was not started because the program that wrote it is gone.
inline Error nobody_waits() {
  return {Errc::interrupted, "the writing program was killed before its text was written"};
}

/// The right to change a session, for one attempt.
struct Held {
  std::unique_ptr<LogWriter> writer;                // null if the format has no lock
  Liveness::State agents = Liveness::State::quiet;  // quiet too if nobody asks
  LivePolicy policy = LivePolicy::on_quiet;         // of the boldest command that is planned
  Result<void> quiet;                               // an error, in words, unless `agents` is quiet
  std::shared_ptr<const AgentLook> look = nullptr;  // null if nobody asks
};

/// What the commands of one turn become: lines to append, or a rewrite. Formats derive their own from it, which their
/// commands know. One thread uses it.
struct Plan {
  Plan() = default;
  virtual ~Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// The state that the commands are planned for. The index is valid until the last command is planned; no I/O
  /// meanwhile.
  virtual Result<void> start(const Session::Guard& now) = 0;

  std::string lead;       // separates the lines from the log's end
  std::string lines;      // to append, each with its line feed
  bool protects = false;  // the lines are to be kept (core/session/store_state.h)
  std::string at_begin;   // what replaces the log's first bytes, written with the lines: both or neither
  EntryId last;           // of the last line, if the session must have it then
  /// Instead of the append: writes all that was planned, or nothing.
  std::function<Result<void>(Held&)> rewrite;
  /// What is left to do after the sync.
  std::function<Result<void>()> last_step;
  /// What the rewrite changed, and what changes beside an append, so that it can be undone (core/session/operations.h).
  std::vector<Effect> effects;
  std::string cannot_undo;  // why the write cannot be undone; "" if `effects` say all, or nothing is changed
};

/// How a format changes its sessions. Its calls for one session are made by one thread at a time.
class Editor {
 public:
  Editor() = default;
  virtual ~Editor() = default;
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  /// Fails if the log takes no changes from anyone. Errors: read_only.
  [[nodiscard]] virtual Result<void> check(const Session::Guard& now) const = 0;
  /// Fails as lock() would fail now, and as the first write would. Takes no lock, and makes nothing.
  [[nodiscard]] virtual Result<void> probe(const SessionPtr& /*session*/) { return {}; }
  enum class Wait : std::uint8_t {
    no,   // null rather than wait for another program or create a file
    yes,  // as long as the agent waits
  };
  /// Takes the lock that keeps out the agent and other writers; null in a format without one.
  [[nodiscard]] virtual Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& /*session*/, Wait /*wait*/) {
    return std::unique_ptr<LogWriter>();
  }
  /// A plan of nothing, under the lock. May read the log.
  [[nodiscard]] virtual Result<std::unique_ptr<Plan>> begin(const SessionPtr& session) = 0;
  /// Makes the lines, or the rewrite, of what was planned; neither if nothing is to be written. May read the log.
  virtual Result<void> complete(const SessionPtr& session, const Held& held, Plan& plan) = 0;
  /// Syncs what a rewrite left to sync, if the format has no lock.
  virtual Result<void> sync(const Session& /*session*/) { return {}; }
  /// The change is on the disk and can be read.
  virtual void committed(const SessionPtr& /*session*/, const Plan& /*plan*/) {}
  /// What a user can do instead of a write to a live session, in words after a comma; "" for nothing.
  [[nodiscard]] virtual std::string instead(const Session& /*session*/) const { return ""; }
  /// The name under which PendingAppends keeps its appends, and the session that such a name belongs to; nothing if it
  /// is another editor's.
  [[nodiscard]] virtual std::string appended_file(const LogPlace& session) const { return session.file; }
  [[nodiscard]] virtual std::optional<LogPlace> place_of(const LogPlace& appended) const { return appended; }
};

/// A change that a caller waits for.
struct Command {
  std::string_view verb;  // for the list of operations; outlives the command
  /// Adds it to the plan, which it leaves as it was if it fails. May be called again with another plan, if other
  /// programs write meanwhile; must not read the log.
  std::function<Result<void>(Plan&)> change;
  /// Instead of a change: work under the lock, with no other command on the session, whatever is in the log.
  std::function<Result<void>(Held&)> work;
  LivePolicy policy = LivePolicy::on_quiet;
  bool is_alone = false;    // it is not planned together with others
  bool mends = false;       // even a log that takes no other changes
  std::uint64_t bytes = 0;  // approximate size, for the bound
  Wanted::Still is_wanted = Wanted::here();
};

/// A command's `change` for the format's own plan.
template <class OwnPlan, class Change>
std::function<Result<void>(Plan&)> change_of(Change change) {
  return [change = std::move(change)](Plan& plan) -> Result<void> { return change(static_cast<OwnPlan&>(plan)); };
}

/// Threads: any; the first that finds a session's queue free does the work for the commands that wait in it. Locks:
/// mutex_ is a leaf, released during the work. The log's lock is held for the write only, never across a sync.
class Committer {
 public:
  struct Settings {
    bool sync = true;
    bool write_live = false;
    /// An attempt is repeated so often, and then for so long, if other programs keep changing the log.
    std::chrono::milliseconds patience{0};
    int tries = 1;
  };
  /// How long commands share a look for agents: less than an agent needs to start and to load a session.
  static constexpr std::chrono::milliseconds kLookServes{4};

  /// `catalog` and `editor` outlive it.
  Committer(Catalog& catalog, Settings settings, Editor& editor)
      : catalog_(catalog), settings_(settings), editor_(editor) {}
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// Returns when the change is on the disk and in the session. Errors: as for Writer.
  Result<void> make(const SessionPtr& session, Command command);
  /// Does work that needs the session quiet and locked, which may move it. The session is read again then. Errors:
  /// those of `work`; as for make().
  Result<void> work(const SessionPtr& session, const std::function<Result<void>()>& work, LivePolicy policy);
  /// Fails as a change would fail now, as far as can be known without the lock.
  [[nodiscard]] Result<void> check(const SessionPtr& session, LivePolicy policy) const;
  /// Takes the right to change a session, which is refreshed then. For an editor that gave it up to copy the log.
  Result<Held> hold(const SessionPtr& session, LivePolicy policy) { return hold(session, policy, policy); }
  /// Cuts off the partial appends that killed processes left in the sessions of an agent that no program holds. Call it
  /// when the process begins to write; every change also checks its own log.
  void take_back_parts(std::string_view agent);

 private:
  struct Waiting;
  /// Commands linked by Waiting::next. Nothing here allocates, so that every waiting thread is woken.
  struct Chain {
    Waiting* first = nullptr;
    Waiting* last = nullptr;
    void push(Waiting& one);
    Waiting* pop();
  };
  struct Queue {
    Chain waiting;
    bool is_busy = false;
  };
  static constexpr std::uint64_t kMaxGroupBytes = 8 << 20;
  static constexpr std::size_t kMaxGroup = 1024;

  Result<void> wait_turn(const SessionPtr& session, Waiting& mine);
  static Chain take_group(Queue& queue);
  void run(const SessionPtr& session, const Chain& group);
  void run_group(const SessionPtr& session, const Chain& group);
  Result<void> attempt(const SessionPtr& session, const std::vector<Waiting*>& group);
  [[nodiscard]] Result<void> check_log(const SessionPtr& session, bool as_read) const;
  Result<Held> hold(const SessionPtr& session, LivePolicy lowest, LivePolicy highest);
  void look_for_agents(const SessionPtr& session, Held& held) const;
  [[nodiscard]] bool is_surely_quiet(const Session& session, const LogWriter& writer, const AgentLook& look) const;
  [[nodiscard]] std::shared_ptr<const AgentLook> recent_look(const Store& store) const;
  bool take_back_part(const SessionPtr& session, Held& held);
  void take_back_parts_in(std::uint8_t store);
  Result<std::unique_ptr<Plan>> plan(const SessionPtr& session, Held& held, const std::vector<Waiting*>& group);
  Result<void> write(const SessionPtr& session, Held& held, Plan& plan);
  Result<void> append(const SessionPtr& session, LogWriter& writer, Plan& plan);
  Result<void> show(const SessionPtr& session, const Held& held, const Plan& plan, const Result<void>& synced);
  Result<void> finish(const SessionPtr& session, Held& held, const FileStat& before, const Plan& plan);
  void note_written(const SessionPtr& session, const Held& held, const FileStat& before) const;
  void note_operation(const SessionPtr& session, const std::vector<Waiting*>& group, Plan& plan) const;

  Catalog& catalog_;
  const Settings settings_;
  Editor& editor_;
  std::mutex mutex_;
  std::map<std::uint32_t, Queue> queues_;  // by session number, while commands wait; guarded by mutex_
  /// The last look for agents.
  struct RecentLook {
    const Store* store = nullptr;
    std::chrono::steady_clock::time_point time{};
    std::shared_ptr<const AgentLook> look;
  };
  mutable std::mutex look_mutex_;  // leaf
  mutable RecentLook look_;        // guarded by look_mutex_
};

/// The error for a session that an agent holds, or may hold: busy. `instead` as Editor::instead().
Error session_is_live(const Liveness& found, const std::string& instead = "");

/// Makes a change visible that was just written. Its error would never make the caller write again.
Result<void> read_back(Session& session, Depth depth);

/// The error for a write that is in a store but was not synced. It is never no_space or stale, which would make the
/// caller write the same again.
inline Error written_but_not_synced(const Error& why) {
  return {Errc::io, why.message +
                        "; the log can be read, but the last write may not survive a power cut: check the end of the "
                        "log before you write again"};
}

/// The same for a new session. It stays, because a program may already have opened it.
inline Error made_but_not_synced(const Error& why, const std::string& session) {
  return {Errc::io, why.message + "; the new session " + session +
                        " is there, but may not survive a power cut: check that it exists before you create it again"};
}

}  // namespace arborfs
