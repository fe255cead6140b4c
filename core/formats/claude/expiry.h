// When Claude Code deletes the files of sessions, and what keeps it from that (claude/FORMAT.md A8). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/os/disk.h"
#include "core/store/store_parts.h"

namespace arborfs::claude {

/// After how many days without a write it deletes a transcript: cleanupPeriodDays of settings.json, else 30.
std::int64_t cleanup_days(const std::string& config_dir);

/// A note for each transcript of the project folders that it deletes within a week from `now_ns`, those that it deletes
/// first before the others.
std::vector<FileFinding> expiring_sessions(const StorePaths& paths, const std::vector<std::string>& projects,
                                           std::int64_t now_ns);

/// As CanProtect::protect, for a session in a project folder.
Result<CanProtect::Protected> protect_session(const arborfs::Store& store, const LogPlace& place, std::int64_t now_ns);
/// As CanProtect::protect_all.
Result<CanProtect::Protected> protect_all_sessions(const std::string& config_dir, Disk& disk);

}  // namespace arborfs::claude
