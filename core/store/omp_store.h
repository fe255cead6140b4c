// The file store of omp and pi: sessions/<folder>/<timestamp>_<id>.jsonl, artifacts beside each log, breadcrumbs in
// terminal-sessions/ (omp/FORMAT.md F). Thread-safe: it keeps no state but the paths, so that a store that appears or
// is replaced while mounted is found at the next call (CONTRACT.md 7.8). It is changed as the agents change it
// (omp_log_change.h).
#pragma once

#include <memory>

#include "core/store/session_store.h"

namespace arborfs {

/// `disk` outlives it. `format` is omp_format() or pi_format().
std::shared_ptr<SessionStore> make_omp_store(StorePaths paths, Disk& disk, const Format& format = omp_format());

}  // namespace arborfs
