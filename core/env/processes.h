// What other processes of this user are doing, as far as /proc and leases tell. Reads only; any thread.
#pragma once

#include <string>
#include <vector>

#include "core/env/file.h"

namespace arborfs {

/// Does another process have this file open for writing? A read lease is refused exactly then (FIELD-FAILURES 0.2);
/// where the file system has no leases, /proc/*/fd of the own user is searched.
/// The process must ignore SIGIO, which a broken lease sends.
bool is_open_for_writing(const File& file);

bool is_process_alive(long pid);

/// A running process that looks like an agent.
struct AgentProcess {
  long pid = 0;
  std::string program;
  std::string cwd;
};
/// Processes named omp, pi or bun of this user; remembered for a second.
std::vector<AgentProcess> running_agents();

}  // namespace arborfs
