// The file store of omp and pi: sessions/<folder>/<timestamp>_<id>.jsonl, artifacts next to each log, breadcrumbs in
// terminal-sessions/ (omp/FORMAT.md F); for pi also <timestamp>_<id>.jsonl in one folder (pi/FORMAT.md A2).
// Thread-safe: it keeps no state except the paths, so that a store that appears or is replaced while mounted is found
// at the next call (CONTRACT.md 7.8). It is written in the same way as the agents write it (log_change.h).
#pragma once

#include <memory>
#include <string_view>

#include "core/formats/omp/store/format.h"
#include "core/store/store.h"

namespace arborfs::omp {

/// True for the names that logs of omp and pi have.
bool is_log_name(std::string_view name);

/// Where the logs are, relative to the sessions folder.
enum class LogLayout : std::uint8_t {
  in_folders,  // below it, one folder for each cwd
  flat,        // in it; its folders are not the agent's
  both
};

/// Whose the logs of a store are: omp and pi may share a folder.
enum class LogOwner : std::uint8_t {
  by_log,  // each log tells (omp/FORMAT.md O2)
  named,   // the agent of the store's format: the user says so
};

/// `disk` outlives it. `format` is omp::format() or pi_format().
std::shared_ptr<arborfs::Store> make_store(StorePaths paths, Disk& disk, const Format& format = omp::format(),
                                           LogLayout layout = LogLayout::in_folders, LogOwner owner = LogOwner::by_log);

/// Opens the store of omp in an agent dir; "" means the user's own (agent_dir.h). A missing folder is not an error: it
/// is used when it appears (CONTRACT.md 7.8). The store is written through `disk`, which outlives it. For the stores of
/// all agents see core/formats/registry.h.
std::shared_ptr<arborfs::Store> open_store(const std::string& agent_dir, Disk& disk = Disk::real());
/// The default agent dirs of omp and of pi, as they are spelled.
std::vector<std::string> default_agent_dirs();

}  // namespace arborfs::omp
