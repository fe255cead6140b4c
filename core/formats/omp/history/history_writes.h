// Adds prompts to omp's history while omp may run (omp/FORMAT.md Q3 to Q4). Any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/os/disk.h"
#include "core/store/prompt_history.h"

namespace arborfs {

/// As PromptHistory::add, for the database at this path. A new database gets mode 0600.
Result<void> add_to_omp_history(const std::string& path, const Prompt& prompt, const PromptHistory::Adding& adding,
                                Disk& disk);

/// A prompt in the form in which omp 18 stores it; "" if nothing is left.
std::string stored_prompt(std::string_view text);

}  // namespace arborfs
