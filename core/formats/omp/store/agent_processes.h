// Finds the coding agents that run on this machine, from /proc (CONTRACT.md 5.2). Only reads, and accesses no file
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

/// A process of this user that runs an agent. It is recognised by its name (omp, omp-*, pi), by the script that bun or
/// node runs, or by an agent's database that it has open. Stopped processes count, zombies do not.
struct AgentProcess {
  long pid = 0;
  std::string program;  // its name, for messages
  std::string cwd;
  std::int64_t started_ns = 0;                     // since 1970, never later than the actual start
  std::vector<std::string> arguments;              // without the program and the script
  std::map<std::string, std::string> environment;  // variables about terminals and agent folders, as at its start
  std::string terminal;                            // the device of descriptor 0, "" if that is not a terminal
  std::vector<std::string> databases;              // the folders of agents' databases that it has open
  bool has_agent_name = false;                     // if false, it is an agent only if `databases` belong to one
};

/// The agents that run, by a scan that began at most `max_age` ago. A process that becomes an agent by exec alone, long
/// after its start, is noticed up to kRecheckedAfter later; no agent has loaded a session by then. With
/// `databases_in_use`, the scan also reads the descriptors of all processes and includes those that have an agent's
/// database open.
std::vector<AgentProcess> find_agents(std::chrono::milliseconds max_age, bool databases_in_use);
inline constexpr std::chrono::milliseconds kRecheckedAfter{250};

/// The file names of agents' databases.
inline constexpr std::array<const char*, 3> kAgentDatabases = {"agent.db", "history.db", "models.db"};

}  // namespace arborfs
