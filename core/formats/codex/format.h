// Codex's threads: its rollout files of either kind. See FORMAT.md in this folder for the facts. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace arborfs::codex {

const Format& format();
const LogReader& reader();
const RecordRenderer& renderer();
/// The format of threads in documents, which are only read and removed. No version of Codex that has `resume` reads
/// those of the first one (codex/FORMAT.md A2).
const Format& document_format();

/// Codex's default folder: $CODEX_HOME, else ~/.codex.
std::string own_dir();

/// The prompts typed to Codex in that folder (codex/FORMAT.md A8). `disk` outlives it.
std::unique_ptr<PromptHistory> prompt_history(const std::string& home, Disk& disk);

/// The store in that folder, which need not exist. `disk` outlives it.
std::shared_ptr<arborfs::Store> make_store(const std::string& home, Disk& disk);

}  // namespace arborfs::codex
