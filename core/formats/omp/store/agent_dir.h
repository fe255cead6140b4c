// Where omp and pi keep their state on this machine (CONTRACT.md 1, omp/FORMAT.md D1), and whether arborfs may use it.
// Reads the environment; any thread that does not race with setenv.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/store/store.h"

namespace arborfs::omp {

/// The default agent dir of omp, as it is spelled: $PI_CODING_AGENT_DIR, else ~/.omp/agent.
std::string own_dir();
/// That of pi: ~/.pi/agent. Nothing if $PI_CODING_AGENT_DIR names one folder for both, which counts as omp's.
std::optional<std::string> own_pi_dir();

/// The paths below a given agent dir.
StorePaths agent_dir_paths(const std::string& agent_dir);
/// The paths of omp's default agent dir, to which the XDG rule of omp/FORMAT.md D1 applies.
StorePaths own_paths();

/// A session dir of pi that the environment or pi's own settings name: a folder that a user chose, which directly
/// contains all logs of pi, whatever their cwd (pi/FORMAT.md A2).
struct ChosenSessionDir {
  std::string dir;      // absolute; "" if it depends on the project
  std::string why_not;  // then the reason, in words
};

/// That of $PI_CODING_AGENT_SESSION_DIR, else of settings.json in pi's agent dir. Nothing if neither names one; the
/// settings of projects and the arguments of pi are unknown.
std::optional<ChosenSessionDir> own_session_dir();

/// True if a folder that a user named for pi is a session dir and no agent dir: it has no folder `sessions`, and it
/// holds logs or is own_session_dir().
bool looks_like_session_dir(const std::string& dir);

/// The paths of a session dir: sessions folder and agent dir are the same.
StorePaths session_dir_paths(const std::string& dir);
/// True for those.
bool is_session_dir(const StorePaths& paths);

}  // namespace arborfs::omp
