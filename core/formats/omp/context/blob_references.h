// Resolves the references in an entry to blobs that are stored elsewhere (omp/FORMAT.md D5 to D7, CONTRACT.md 7.7).
#pragma once

#include <string_view>

#include "core/formats/omp/context/context.h"
#include "core/json/document.h"

namespace arborfs {

inline constexpr std::string_view kBlobPrefix = "blob:sha256:";

/// The 64 hex digits of a well-formed reference; empty for any other text.
std::string_view blob_hash(std::string_view text);

/// True if its `mimeType` starts with "image/", in upper or lower case.
bool has_image_mime_type(const json::Value& object);

/// Replaces every reference that the dialect resolves in `entry`, which must be a whole entry. A reference stays as it
/// is if `blobs` is null or does not have the blob. Never recurses.
void resolve_blobs(json::Document& entry, Dialect dialect, const BlobSource* blobs);

/// The blob's bytes as base64 if `text` is a reference to a blob that can be read, else nullopt.
std::optional<std::string> blob_as_base64(std::string_view text, const BlobSource* blobs);

}  // namespace arborfs
