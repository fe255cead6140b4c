// Claude Code's sessions: transcripts of JSON lines. See FORMAT.md in this folder for the facts.
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/store/store.h"

namespace arborfs::claude {

const Format& format();
/// Of transcripts of sub-agents, to which nothing is written: the program resumes only the sessions that started them.
const Format& sub_agent_format();
const LogReader& reader();
const RecordRenderer& renderer();

inline constexpr std::string_view kAgentPrefix = "agent-";  // begins the name of a sub-agent's transcript

// In the folder beside the transcript:
inline constexpr std::string_view kTitleFile = "custom-title.json";
inline constexpr std::string_view kArchiveFile = "archived.json";

/// The name of the folder in which the program looks for the sessions of a working directory (claude/FORMAT.md A1).
std::string project_folder_of(std::string_view cwd);

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
