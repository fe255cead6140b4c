// What other processes of this user are doing, as far as /proc and leases tell. Reads only; any thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/env/file.h"

namespace arborfs {

/// Is `seen` true, and stays so for `patience`? Asked again and again until then, for what others hold for one write
/// only is nothing to tell of.
bool is_lasting(const std::function<bool()>& seen, std::chrono::milliseconds patience);

/// Does another process have this file open for writing, for `patience` at least? A read lease is refused exactly then,
/// and for the moment in which another one is being given back (FIELD-FAILURES 0.2); where the file system has no
/// leases, /proc/*/fd of the own user is searched. While it looks, an open for writing with O_NONBLOCK by anybody gets
/// EWOULDBLOCK. The process must ignore SIGIO, which a broken lease sends.
bool is_open_for_writing(const File& file, std::chrono::milliseconds patience);

bool is_process_alive(long pid);

/// A running process that looks like an agent.
struct AgentProcess {
  long pid = 0;
  std::string program;
  std::string cwd;
};
/// Processes named omp, pi or bun of this user but this one. Takes a millisecond and more.
std::vector<AgentProcess> find_agents();
/// The same, as of so long ago at most.
inline constexpr std::chrono::seconds kAgentsRemembered{1};
std::vector<AgentProcess> running_agents();

}  // namespace arborfs
