// The metadata of a session (goat/FORMAT.md B1). Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs::goat {

/// The files of a session (goat/FORMAT.md A2).
inline constexpr const char* kMetadataFile = "metadata.json";
inline constexpr const char* kMessagesFile = "messages.jsonl";
inline constexpr const char* kTranscriptFile = "transcript.jsonl";

/// The header from the text of metadata.json; an invalid one with the reason if there is no such file or it is not a
/// JSON object. `folder` is the session's folder, whose name is its id (goat/FORMAT.md A2); "" for the id in the text.
Header header_of(std::optional<std::string_view> metadata, std::string_view folder = "");

}  // namespace arborfs::goat
