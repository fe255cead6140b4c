// A snapshot of the running agents, and of the sessions that each may hold by the rule of CONTRACT.md 5.3. One snapshot
// serves many sessions; it soon becomes stale. Changes nothing on disk. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/session/session.h"

namespace arborfs {

class WriteMarks;

class AgentLook {
 public:
  virtual ~AgentLook() = default;
  AgentLook() = default;
  AgentLook(const AgentLook&) = delete;
  AgentLook& operator=(const AgentLook&) = delete;

  /// Takes the snapshot now. `store` outlives it.
  static std::unique_ptr<AgentLook> now(const SessionStore& store);
  /// The same, but the list of processes may be a second old: for display, not for deciding on a write.
  static std::unique_ptr<AgentLook> recent(const SessionStore& store);

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

/// How running agents of a format are recognised (Format::agents). One constant object per format. Thread-safe.
class AgentFinder {
 public:
  virtual ~AgentFinder() = default;
  /// The list of processes may be `max_age` old.
  [[nodiscard]] virtual std::unique_ptr<AgentLook> look(const SessionStore& store,
                                                        std::chrono::milliseconds max_age) const = 0;
};

}  // namespace arborfs
