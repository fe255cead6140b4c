// The coding agents that run on this machine, as far as /proc tells (CONTRACT.md 5.2). Reads only, and asks no file
// system but /proc: a path of another process may lead through the mount that this process serves, or through a dead
// one. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace arborfs {

/// A process of this user that runs an agent: by its name (omp, omp-*, pi), by the script that bun or node runs, or by
/// an agent's database that it has open. Stopped processes count, zombies do not.
struct AgentProcess {
  long pid = 0;
  std::string program;  // its name for messages
  std::string cwd;
  std::int64_t started_ns = 0;                     // since 1970, not later than it was
  std::vector<std::string> arguments;              // without the program and the script
  std::map<std::string, std::string> environment;  // what tells terminals and agent dirs, as it was at its start
  std::string terminal;                            // the device behind descriptor 0, "" when that is no terminal
  std::vector<std::string> databases;              // the folders of agents' databases that it has open
  bool has_agent_name = false;                     // else only `databases` tell that it is one, if they are an agent's
};

/// As they are now. A process that turns itself into an agent by exec alone, long after its start, is noticed
/// kRecheckedAfter later; no agent has loaded a session by then. Unless `databases_in_use`, no program counts for a
/// database that it has open; to find those out, the descriptors of all processes are read.
std::vector<AgentProcess> find_agents(bool databases_in_use);
inline constexpr std::chrono::milliseconds kRecheckedAfter{250};

/// The same, as of kAgentsRemembered ago at most: for showing, not for deciding on a write.
std::vector<AgentProcess> running_agents(bool databases_in_use);
inline constexpr std::chrono::seconds kAgentsRemembered{1};
/// The names that agents' databases have.
inline constexpr std::array<const char*, 3> kAgentDatabases = {"agent.db", "history.db", "models.db"};

}  // namespace arborfs
