// The checkpoints of a session: states of files that goat kept to go back to (goat/FORMAT.md D). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/os/file.h"

namespace arborfs::goat {

/// The folder of all checkpoints in that of a session, and the manifest in that of a checkpoint.
inline constexpr const char* kCheckpoints = "checkpoints";
inline constexpr const char* kManifest = "manifest.json";
/// Longer manifests are not read.
inline constexpr std::uint64_t kLongestManifest = std::uint64_t{16} << 20U;

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

}  // namespace arborfs::goat
