#include "core/formats/omp/store/agent_dir.h"

#include <dirent.h>

#include <algorithm>
#include <filesystem>

#include "core/formats/omp/store/store.h"
#include "core/json/document.h"
#include "core/os/environment.h"
#include "core/os/file.h"

namespace arborfs::omp {

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

constexpr const char* kVariable = "PI_CODING_AGENT_SESSION_DIR";
constexpr std::size_t kMostSettings = 1024 * 1024;

/// `sessionDir` of an agent dir's settings; "" if it is not set.
std::string session_dir_in_settings(const std::string& agent_dir) {
  const auto folder = Dir::open_root(agent_dir);
  const auto file = folder ? File::open_in(*folder, "settings.json") : Result<File>(folder.error());
  const auto text = file ? file->read(0, kMostSettings) : Result<std::string>(file.error());
  json::Document settings;
  if (!text || !json::parse(*text, settings)) {
    return "";
  }
  return json::text_member(settings, "sessionDir");
}

/// pi expands `~` at the beginning; a relative path is relative to the project where it runs.
ChosenSessionDir chosen(const std::string& spelled, const std::string& where) {
  if (spelled == "~" || spelled.starts_with("~/")) {
    return {environment_variable("HOME") + spelled.substr(1), ""};
  }
  if (spelled.front() == '/') {
    return {spelled, ""};
  }
  return {"", where + " names a folder in each project; name one of them with --store pi=DIR"};
}

}  // namespace

std::string own_dir() {
  const std::string chosen = environment_variable("PI_CODING_AGENT_DIR");
  return chosen.empty() ? environment_variable("HOME") + "/.omp/agent" : chosen;
}

std::optional<std::string> own_pi_dir() {
  return environment_variable("PI_CODING_AGENT_DIR").empty()
             ? std::optional(environment_variable("HOME") + "/.pi/agent")
             : std::nullopt;
}

std::vector<std::string> default_agent_dirs() {
  std::vector<std::string> dirs{own_dir()};
  if (auto pi = own_pi_dir()) {
    dirs.push_back(std::move(*pi));
  }
  return dirs;
}

StorePaths agent_dir_paths(const std::string& agent_dir) {
  const std::string dir = resolved_path(agent_dir);
  return paths_in(dir, dir, dir);
}

StorePaths own_paths() {
  const std::string dir = resolved_path(own_dir());
  if (!environment_variable("PI_CODING_AGENT_DIR").empty()) {
    return paths_in(dir, dir, dir);
  }
  const std::string data = xdg_folder("XDG_DATA_HOME");
  const std::string state = xdg_folder("XDG_STATE_HOME");
  return paths_in(dir, data.empty() ? dir : resolved_path(data), state.empty() ? dir : resolved_path(state));
}

std::optional<ChosenSessionDir> own_session_dir() {
  if (const std::string dir = environment_variable(kVariable); !dir.empty()) {
    return chosen(dir, "$" + std::string(kVariable));
  }
  const std::string agent_dir = own_pi_dir().value_or(environment_variable("PI_CODING_AGENT_DIR"));
  const std::string dir = session_dir_in_settings(agent_dir);
  return dir.empty() ? std::nullopt : std::optional(chosen(dir, "sessionDir in " + agent_dir + "/settings.json"));
}

bool looks_like_session_dir(const std::string& dir) {
  const auto folder = Dir::open_root(dir);
  if (folder && folder->stat("sessions")) {
    return false;
  }
  const auto own = own_session_dir();
  if (own && !own->dir.empty() && resolved_path(own->dir) == resolved_path(dir)) {
    return true;
  }
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  return entries && std::any_of(entries->begin(), entries->end(), [](const DirEntry& entry) {
           return entry.type == DT_REG && omp::is_log_name(entry.name);
         });
}

StorePaths session_dir_paths(const std::string& dir) {
  std::string path = resolved_path(dir);
  if (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return {path, path, "", ""};
}

bool is_session_dir(const StorePaths& paths) {
  return paths.sessions == paths.agent_dir;
}

}  // namespace arborfs::omp
