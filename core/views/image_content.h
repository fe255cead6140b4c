// The bytes of images, made piece by piece as they are read. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/model/content.h"
#include "core/render/text_sizes.h"
#include "core/store/blob_store.h"

namespace arborfs {

/// An image that is base64 in its entry.
std::shared_ptr<const Content> inline_image(const std::shared_ptr<const LogSource>& log, const Entry& entry,
                                            const ImageRef& image);
/// An image in the blob store. Errors: corrupt if the blob cannot be opened or does not match its hash; io.
Result<std::shared_ptr<const Content>> blob_image(BlobStore& blobs, const std::string& hash);
/// The size to show for a blob. Never 0 if its bytes are unavailable: where files are not opened before a read, the
/// kernel never reads an empty file, and no reader would see the error.
std::uint64_t shown_blob_size(const BlobStore& blobs, const std::string& hash);

}  // namespace arborfs
