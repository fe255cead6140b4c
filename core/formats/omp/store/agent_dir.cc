#include "core/formats/omp/store/agent_dir.h"

#include <filesystem>

#include "core/os/environment.h"

namespace arborfs {

namespace {

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// `<value of variable>/omp` if that folder exists: the agent then keeps its data there.
std::string xdg_folder(const char* variable) {
  const std::string base = environment_variable(variable);
  return !base.empty() && is_folder(base + "/omp") ? base + "/omp" : std::string();
}

StorePaths paths_in(const std::string& dir, const std::string& data, const std::string& state) {
  return {dir, data + "/sessions", data + "/blobs", state + "/terminal-sessions"};
}

}  // namespace

std::string own_omp_dir() {
  const std::string chosen = environment_variable("PI_CODING_AGENT_DIR");
  return chosen.empty() ? environment_variable("HOME") + "/.omp/agent" : chosen;
}

std::optional<std::string> own_pi_dir() {
  return environment_variable("PI_CODING_AGENT_DIR").empty()
             ? std::optional(environment_variable("HOME") + "/.pi/agent")
             : std::nullopt;
}

std::vector<std::string> default_agent_dirs() {
  std::vector<std::string> dirs{own_omp_dir()};
  if (auto pi = own_pi_dir()) {
    dirs.push_back(std::move(*pi));
  }
  return dirs;
}

StorePaths agent_dir_paths(const std::string& agent_dir) {
  const std::string dir = resolved_path(agent_dir);
  return paths_in(dir, dir, dir);
}

StorePaths own_omp_paths() {
  const std::string dir = resolved_path(own_omp_dir());
  if (!environment_variable("PI_CODING_AGENT_DIR").empty()) {
    return paths_in(dir, dir, dir);
  }
  const std::string data = xdg_folder("XDG_DATA_HOME");
  const std::string state = xdg_folder("XDG_STATE_HOME");
  return paths_in(dir, data.empty() ? dir : resolved_path(data), state.empty() ? dir : resolved_path(state));
}

}  // namespace arborfs
