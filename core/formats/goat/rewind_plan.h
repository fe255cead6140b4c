// The changes that a rewind to a checkpoint would make to the files in the session's working directory. Only reads. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/goat/checkpoints.h"
#include "core/os/work_folder.h"

namespace arborfs::goat {

enum class RewindAction : std::uint8_t {
  unchanged,
  restore,  // replace the file that is there
  create,
  remove,
  missing,  // the checkpoint does not have the content
  refused,
};
/// As users read it: "unchanged", "restore", ...
std::string_view word_of(RewindAction action);

struct PlannedFile {
  std::string path;                // as the manifest has it
  std::vector<std::string> parts;  // below the working directory; none if it leads elsewhere
  RewindAction action = RewindAction::refused;
  std::string why;   // of `missing` and `refused`
  std::string hash;  // of the content to restore or create
  std::optional<std::uint32_t> mode;
  std::optional<FileStat> present;  // the file that is there now
  [[nodiscard]] bool changes() const {
    return action == RewindAction::restore || action == RewindAction::create || action == RewindAction::remove;
  }
};

/// One row per file, in the order of the manifest; if several rows name one file, the last counts. Anything that is not
/// a regular file stays. With `checked`, contents that are to be written are compared with their hashes.
std::vector<PlannedFile> plan_rewind(const Dir& session, const Checkpoint& checkpoint, const WorkFolder& work,
                                     bool checked);

/// The changes of a plan as a unified diff, with a line for each change that would not be made. At most a few MiB:
/// files that are too long are only named.
std::string diff_of(const Dir& session, const Checkpoint& checkpoint, const WorkFolder& work);

}  // namespace arborfs::goat
