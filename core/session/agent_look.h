// One look at the agents that run, and what each of them may hold of a store: the rule of CONTRACT.md 5.3. Made once
// for many sessions, and not kept for long. Looking changes nothing. Any threads.
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
  /// At the processes of this moment. `store` outlives it.
  static AgentLook now(const SessionStore& store);
  /// At those of kAgentsRemembered ago at most; breadcrumbs are read now.
  static AgentLook recent(const SessionStore& store);
  ~AgentLook();
  AgentLook(AgentLook&&) noexcept;
  AgentLook& operator=(AgentLook&&) = delete;

  /// No agent of this store runs.
  [[nodiscard]] bool is_empty() const;
  /// For each agent that may hold the session, why, in words. `now` is the log as it is.
  [[nodiscard]] std::vector<std::string> reasons(const Session& session, const FileStat& now,
                                                 const WriteMarks& marks) const;
  /// An agent owns the session by its lease, whoever it is (omp/FORMAT.md L1).
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
