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

StorePaths paths_in(const std::string& dir, const std::string& data, const std::string& state) {
  return {dir, data + "/sessions", data + "/blobs", state + "/terminal-sessions"};
}

}  // namespace

std::string own_omp_dir() {
  const std::string chosen = environment("PI_CODING_AGENT_DIR");
  return chosen.empty() ? environment("HOME") + "/.omp/agent" : chosen;
}

std::optional<std::string> own_pi_dir() {
  return environment("PI_CODING_AGENT_DIR").empty() ? std::optional(environment("HOME") + "/.pi/agent") : std::nullopt;
}

std::vector<std::string> default_agent_dirs() {
  std::vector<std::string> dirs{own_omp_dir()};
  if (auto pi = own_pi_dir()) {
    dirs.push_back(std::move(*pi));
  }
  return dirs;
}

StorePaths agent_dir_paths(const std::string& agent_dir) {
  const std::string dir = resolved(agent_dir);
  return paths_in(dir, dir, dir);
}

StorePaths own_omp_paths() {
  const std::string dir = resolved(own_omp_dir());
  if (!environment("PI_CODING_AGENT_DIR").empty()) {
    return paths_in(dir, dir, dir);
  }
  const std::string data = xdg_folder("XDG_DATA_HOME");
  const std::string state = xdg_folder("XDG_STATE_HOME");
  return paths_in(dir, data.empty() ? dir : resolved(data), state.empty() ? dir : resolved(state));
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
                                         : whose + ": run arborfs as that user, or read it with --store"};
  }
  return {};
}

}  // namespace arborfs
