// Blob references inside an entry, put in place of what was stored elsewhere (omp/FORMAT.md D5 to D7, CONTRACT.md 7.7).
#pragma once

#include <string_view>

#include "core/json/document.h"
#include "core/model/context.h"

namespace arborfs {

inline constexpr std::string_view kBlobPrefix = "blob:sha256:";

/// The 64 hex digits of a well-formed reference, empty for any other text.
std::string_view blob_hash(std::string_view text);

/// Its `mimeType` says that it is an image, in any case of letters.
bool has_image_mime_type(const json::Value& object);

/// Replaces every reference that the dialect resolves in `entry`, a whole entry. What `blobs` does not give, null
/// included, stays a reference. Never recurses.
void resolve_blobs(json::Document& entry, Dialect dialect, const BlobSource* blobs);

/// The base64 text behind `text` if it is a reference whose blob can be read, else nothing.
std::optional<std::string> blob_as_base64(std::string_view text, const BlobSource* blobs);

}  // namespace arborfs
