// The checkpoints of a session: states of files that goat kept to go back to (goat/FORMAT.md D). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"
#include "core/os/work_folder.h"

namespace arborfs::goat {

/// The folder of all checkpoints in that of a session, and the manifest in that of a checkpoint.
inline constexpr const char* kCheckpoints = "checkpoints";
inline constexpr const char* kManifest = "manifest.json";
/// Longer manifests are not read.
inline constexpr std::uint64_t kLongestManifest = std::uint64_t{16} << 20U;

/// The permissions in a file's mode.
inline constexpr std::uint32_t kPermissions = 0777;

/// The record of one file in a checkpoint.
struct CheckpointFile {
  enum class State : std::uint8_t {
    stored,
    absent,   // there was no such file
    missing,  // its content is not in the checkpoint
  };
  std::string path;  // as the manifest has it: absolute, or relative to the session's cwd
  State state = State::missing;
  std::string hash;                        // of the content; "" if it is absent
  std::optional<std::uint64_t> size = {};  // of the stored content
  std::optional<std::uint32_t> mode = {};  // permissions, if arborfs made the checkpoint (goat/FORMAT.md D4)
};

struct Checkpoint {
  std::string id;          // the name of its folder
  std::string created_at;  // as the manifest has it
  std::vector<CheckpointFile> files;
};

/// Those of a session whose folder is `session`, oldest first; none if it has no folder of checkpoints. A checkpoint
/// without a manifest that can be read is left out. Contents are looked for, but not read. Errors: io, permission.
Result<std::vector<Checkpoint>> list_checkpoints(const Dir& session);

/// One of them. Errors: invalid_argument for a name that no checkpoint has; not_found; corrupt if the manifest is not a
/// JSON object of at most 16 MiB; io, permission.
Result<Checkpoint> read_checkpoint(const Dir& session, const std::string& id);

/// Opens a stored content without checking it against its hash. Errors: not_found; those of File::open_in.
Result<File> open_content(const Dir& session, const std::string& checkpoint, const std::string& hash);

// The changes that a rewind to a checkpoint would make to the files in the session's working directory. Only reads. Any
// thread.

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
