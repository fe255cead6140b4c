// The prompts typed to omp: the table `history` of the database history.db (omp/FORMAT.md Q). No other table is read.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>

#include "core/os/disk.h"
#include "core/store/prompt_history.h"

namespace arborfs {

/// The history next to a sessions folder. It need not exist, and may appear later. `disk` outlives it.
std::unique_ptr<PromptHistory> make_omp_history(const std::string& sessions, Disk& disk);

/// Held shared while this process has a history open, and exclusively by whatever else opens its file: closing that
/// descriptor drops the locks that SQLite holds. Then no other lock is taken.
std::shared_mutex& omp_history_gate();

}  // namespace arborfs
