// Claude Code's sessions: transcripts of JSON lines. See FORMAT.md in this folder for the facts.
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/store/store.h"

namespace arborfs::claude {

const Format& format();
const LogReader& reader();
const RecordRenderer& renderer();

/// Claude Code's default folder: $CLAUDE_CONFIG_DIR, else ~/.claude.
std::string own_dir();

/// The folder that some versions used instead, $XDG_CONFIG_HOME/claude, else ~/.config/claude, if it has transcripts
/// (claude/FORMAT.md A1). Nothing if $CLAUDE_CONFIG_DIR names one.
std::optional<std::string> other_dir();

/// The prompts typed to Claude Code in that folder (claude/FORMAT.md A7). `disk` outlives it.
std::unique_ptr<PromptHistory> prompt_history(const std::string& config_dir, Disk& disk);

/// The store in that folder, which need not exist. `disk` outlives it.
std::shared_ptr<arborfs::Store> make_store(const std::string& config_dir, Disk& disk);

}  // namespace arborfs::claude
