// New files of threads: of new threads, and further segments (codex/FORMAT.md A2, H4). Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/formats/codex/store.h"

namespace arborfs::codex {

/// A file below Codex's folder that has its name, and whether that is on the disk.
struct NewSegment {
  Dir folder;
  std::string name;
  std::string path;  // absolute, as the database has it
  Result<void> synced;
};

/// Creates the file of a segment, whole or not at all, in the folder of the local date. `segment` is "" for the first
/// segment of a thread; `permissions` are the most that the file has. It is filled outside the folders of rollouts.
/// Errors: those of the disk; already_exists.
Result<NewSegment> write_segment(const ThreadStore& store, const std::string& thread, const std::string& segment,
                                 std::int64_t time_ms, mode_t permissions, std::string_view lines, bool sync);

/// The folder below Codex's folder where it puts the rollouts of a day: "sessions/2026/11/21" of "2026-11-21T20-56-02".
std::string folder_of_day(std::string_view time);
/// Opens a folder for rollouts; creates what is missing of it.
Result<Dir> make_folder(Disk& disk, const std::string& home, const std::string& folder, bool sync);

/// The provider of models that Codex's settings name, which it requires of a thread that it resumes (H4).
std::string model_provider(const std::string& home);

}  // namespace arborfs::codex
