// The prompts typed to omp: the table `history` of the database history.db (omp/FORMAT.md Q), read and added to while
// omp may run (Q3 to Q4). No other table is read. Any thread.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "core/os/disk.h"
#include "core/store/prompt_history.h"

namespace arborfs::omp {

/// As PromptHistory::add, for the database at this path. A new database gets mode 0600.
Result<std::vector<Effect>> add_to_history(const std::string& path, const Prompt& prompt,
                                           const PromptHistory::Adding& adding, Disk& disk);

/// A prompt in the form in which omp 18 stores it; "" if nothing is left.
std::string stored_prompt(std::string_view text);

/// The history next to a sessions folder. It need not exist, and may appear later. `disk` outlives it.
std::unique_ptr<PromptHistory> make_history(const std::string& sessions, Disk& disk);

/// Held shared while this process has a history open, and exclusively by whatever else opens its file: closing that
/// descriptor drops the locks that SQLite holds. Then no other lock is taken.
std::shared_mutex& history_gate();

}  // namespace arborfs::omp
