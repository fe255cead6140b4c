#include "core/views/image_content.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/render/images.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kStep = 768 * 1024;  // a multiple of 3, so that base64 splits there

constexpr std::string_view kHashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

}  // namespace

std::shared_ptr<const Content> inline_image(const std::shared_ptr<const LogSource>& log, const Entry& entry,
                                            const ImageRef& image) {
  auto content = std::make_shared<Content>();
  const std::uint64_t step = image.plain_base64 ? kStep : image.size;
  for (std::uint64_t from = 0; from < image.size; from += step) {
    const std::uint64_t length = std::min(step, image.size - from);
    content->add_rendered(
        length, [log, entry, image, from, length] { return read_inline_image(*log, entry, image, from, length); });
  }
  return content;
}

Result<std::shared_ptr<const Content>> blob_image(BlobStore& blobs, const std::string& hash) {
  auto file = blobs.open(hash);
  if (!file) {
    return Error{Errc::corrupt, "blob " + hash + ": " + file.error().message};
  }
  ASSIGN_OR_RETURN(auto st, (*file)->stat());
  auto content = std::make_shared<Content>();
  for (std::uint64_t from = 0; from < st.size; from += kStep) {
    const std::uint64_t step = std::min(kStep, st.size - from);
    content->add_rendered(step, [file = *file, from, step]() -> Result<std::string> { return file->read(from, step); });
  }
  return std::shared_ptr<const Content>(content);
}

std::uint64_t shown_blob_size(const BlobStore& blobs, const std::string& hash) {
  const auto st = blobs.stat(hash);
  const std::uint64_t size = st ? st->size : 0;
  return size == 0 && hash != kHashOfNothing ? 1 : size;
}

}  // namespace arborfs
