#include "core/store/agent_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>

namespace arborfs {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// Absolute and with links resolved as far as the path exists; the rest stays as spelled.
std::string resolved(const std::string& path) {
  std::error_code failed;
  const auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  return failed ? path : canonical.string();
}

/// `<value of variable>/omp` if that folder exists: the agent then keeps its data there.
std::string xdg_folder(const char* variable) {
  const std::string base = environment(variable);
  return !base.empty() && is_folder(base + "/omp") ? base + "/omp" : std::string();
}

/// Where pi keeps its state, if that is what the default means: nobody named a folder, and omp has none.
std::string default_pi_dir() {
  const std::string home = environment("HOME");
  const bool has_omp = !environment("PI_CODING_AGENT_DIR").empty() || is_folder(home + "/.omp/agent") ||
                       !xdg_folder("XDG_DATA_HOME").empty() || !xdg_folder("XDG_STATE_HOME").empty();
  const std::string pi = home + "/.pi/agent";
  return !has_omp && is_folder(pi) ? pi : "";
}

}  // namespace

bool is_default_pis() {
  return !default_pi_dir().empty();
}

std::vector<std::string> default_agent_dirs() {
  if (const std::string chosen = environment("PI_CODING_AGENT_DIR"); !chosen.empty()) {
    return {chosen};
  }
  const std::string home = environment("HOME");
  return {home + "/.omp/agent", home + "/.pi/agent"};
}

namespace {

std::string default_agent_dir() {
  if (const std::string chosen = environment("PI_CODING_AGENT_DIR"); !chosen.empty()) {
    return chosen;
  }
  const std::string pi = default_pi_dir();
  return pi.empty() ? environment("HOME") + "/.omp/agent" : pi;
}

}  // namespace

StorePaths locate_agent_dir(const std::string& agent_dir) {
  const bool own = agent_dir.empty();
  StorePaths paths;
  paths.agent_dir = resolved(own ? default_agent_dir() : agent_dir);
  std::string data = paths.agent_dir;
  std::string state = paths.agent_dir;
  if (own && environment("PI_CODING_AGENT_DIR").empty()) {
    const std::string xdg_data = xdg_folder("XDG_DATA_HOME");
    const std::string xdg_state = xdg_folder("XDG_STATE_HOME");
    data = xdg_data.empty() ? data : resolved(xdg_data);
    state = xdg_state.empty() ? state : resolved(xdg_state);
  }
  paths.sessions = data + "/sessions";
  paths.blobs = data + "/blobs";
  paths.terminals = state + "/terminal-sessions";
  return paths;
}

Result<void> check_owner(const StorePaths& paths, bool named, Access access) {
  for (const std::string& path : {paths.sessions, paths.agent_dir}) {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) {
      continue;
    }
    if (st.st_uid == ::geteuid() || (named && access == Access::look)) {
      return {};
    }
    const std::string whose = path + " belongs to another user (uid " + std::to_string(st.st_uid) + ")";
    return Error{Errc::permission, named ? whose + ": you can read it (mount it with -o ro) but not write to it"
                                         : whose + ": run arborfs as that user, or read it with --agent-dir"};
  }
  return {};
}

}  // namespace arborfs
