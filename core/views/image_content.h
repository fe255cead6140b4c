// The bytes of images, piece by piece as they are read. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/log/content.h"
#include "core/render/text_sizes.h"
#include "core/store/blob_store.h"

namespace arborfs {

/// Of one that stands in its entry as base64.
std::shared_ptr<const Content> inline_image(const std::shared_ptr<const LogFile>& log, const Entry& entry,
                                            const ImageRef& image);
/// Of one that lies in the blob store. Errors: corrupt when it cannot be opened as what it should be; io.
Result<std::shared_ptr<const Content>> blob_image(BlobStore& blobs, const std::string& hash);
/// The size to show for a blob. Never 0 for one whose bytes cannot be had: an empty file is not read at all where files
/// are not opened first, and nobody would learn of the error.
std::uint64_t shown_blob_size(const BlobStore& blobs, const std::string& hash);

}  // namespace arborfs
