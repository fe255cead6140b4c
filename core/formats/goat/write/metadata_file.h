// Changes to the metadata of a session (goat/FORMAT.md B1). Any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"

namespace arborfs::goat {

/// `seen` is the file as it was opened. Errors: corrupt if it is not one JSON object; those of reading it.
Result<std::string> read_metadata(const Dir& folder, FileStat& seen);
/// The value of a field in the text of a metadata file; empty if there is none.
std::string_view metadata_value(std::string_view metadata, std::string_view key);
/// The metadata with a field set to a JSON text; every other byte stays, and a new field gets a line of its own at the
/// end. `metadata` must be one JSON object.
std::string with_metadata(std::string metadata, std::string_view key, std::string_view value);

struct Field {
  std::string_view key;
  std::string json;
};
/// A metadata file with these fields.
std::string new_metadata(const std::vector<Field>& fields);

/// Returns the new text; the same text if nothing is to be changed.
using MetadataChange = std::function<Result<std::string>(std::string text)>;
/// Replaces the metadata of the session in this folder, unless another program writes it meanwhile: then `change` is
/// called again. Errors: those of `change`; corrupt if it is not a JSON object; stale if others keep writing it; busy;
/// those of the disk.
Result<void> change_metadata(Disk& disk, const Dir& folder, bool sync, const MetadataChange& change);

}  // namespace arborfs::goat
