// A snapshot of the running agents, and of the sessions that each may hold by the rule of CONTRACT.md 5.3. One snapshot
// serves many sessions; it soon becomes stale. Changes nothing on disk. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/os/agent_processes.h"
#include "core/session/session.h"

namespace arborfs {

class WriteMarks;

class AgentLook {
 public:
  /// Takes the snapshot now. `store` outlives it.
  static AgentLook now(const SessionStore& store);
  /// Reuses a list of processes that is at most kAgentsRemembered old; reads the breadcrumbs now.
  static AgentLook recent(const SessionStore& store);
  ~AgentLook();
  AgentLook(AgentLook&&) noexcept;
  AgentLook& operator=(AgentLook&&) = delete;

  /// True if no agent of this store runs.
  [[nodiscard]] bool is_empty() const;
  /// Why each agent may hold the session, in words, one text per such agent. `now` is the log's current stat.
  [[nodiscard]] std::vector<std::string> reasons(const Session& session, const FileStat& now,
                                                 const WriteMarks& marks) const;
  /// True if any agent owns the session by its lease (omp/FORMAT.md L1).
  [[nodiscard]] bool is_leased(const Session& session) const;

 private:
  struct Agent;
  struct Asked;
  AgentLook(const SessionStore& store, std::vector<AgentProcess> processes);
  void read_breadcrumbs();
  const SessionStore& store_;
  std::vector<Agent> agents_;
  std::vector<std::string> lease_folders_;
};

}  // namespace arborfs
