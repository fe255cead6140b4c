// Whether an agent holds a session (CONTRACT.md 5.1, FAILURES.md P1, P2). Changes nothing on disk. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/catalog.h"
#include "core/store/log_writer.h"

namespace arborfs {

/// A snapshot of the running agents, and of the sessions that each may hold by the rule of CONTRACT.md 5.3. One
/// snapshot serves many sessions and threads; it soon becomes stale.
class AgentLook {
 public:
  virtual ~AgentLook() = default;
  AgentLook() = default;
  AgentLook(const AgentLook&) = delete;
  AgentLook& operator=(const AgentLook&) = delete;

  /// Takes the snapshot now. `store` outlives it.
  static std::unique_ptr<AgentLook> now(const Store& store);
  /// The same, but the list of processes may be a second old: for display, not for deciding on a write.
  static std::unique_ptr<AgentLook> recent(const Store& store);

  /// True if no agent of this store runs.
  [[nodiscard]] virtual bool is_empty() const = 0;
  /// Why each agent may hold the session, in words, one text per such agent. `now` is the log's current stat.
  [[nodiscard]] virtual std::vector<std::string> reasons(const Session& session, const FileStat& now,
                                                         const WriteMarks& marks) const = 0;
  /// Why an agent certainly has the session loaded, in words, from its own signs; empty if there are none.
  [[nodiscard]] virtual std::vector<std::string> proofs(const Session& session) const = 0;
  /// The same for a caller that holds the log's lock (LiveSigns::under_lock).
  [[nodiscard]] virtual std::vector<std::string> proofs_under_lock(const Session& session) const {
    return proofs(session);
  }
};

/// True if looks for the agents of this format read WriteMarks.
bool reads_write_marks(const Format& format);

/// How running agents of a format are recognised (Format::agents). One constant object per format. Thread-safe.
class AgentFinder {
 public:
  virtual ~AgentFinder() = default;
  /// The list of processes may be `max_age` old.
  [[nodiscard]] virtual std::unique_ptr<AgentLook> look(const Store& store,
                                                        std::chrono::milliseconds max_age) const = 0;
};

struct Liveness {
  enum class State { quiet, maybe, live } state = State::quiet;
  std::vector<std::string> reasons;  // in words
};

/// `live`: another process has the log open for writing (lease test, else /proc) or holds its lock file, in both cases
/// for longer than one write, or an agent's own sign proves that it has the session loaded; `maybe`: a running agent
/// may hold it (AgentLook); else `quiet`. The list of agents is at most a second old.
Liveness check_liveness(const Session& session, const Catalog& catalog);
/// The same with the caller's look at the agents of the session's store.
Liveness check_liveness(const Session& session, const Catalog& catalog, const AgentLook& look);
/// The same as check_liveness() for a caller that holds the log's lock. Waits up to kLongestWrite if another process has
/// the log open.
Liveness check_under_lock(const Session& session, const LogWriter& writer, const Catalog& catalog,
                          const AgentLook& look);
std::string_view liveness_word(Liveness::State state);
/// "the session may be live: <reasons>".
std::string liveness_words(const Liveness& liveness);

}  // namespace arborfs
