// The bytes of inline images, which entries hold as base64. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/log/log_source.h"
#include "core/render/text_sizes.h"

namespace arborfs {

/// Sets where the data of an inline image is and how it is spelled. `spelled` is the raw text of a JSON string, without
/// its quotes, within `raw`, the entry's value.
void locate_base64(std::string_view raw, std::string_view spelled, ImageRef& image);

/// The image in the JSON string `literal` within `raw`: base64 text, of the given media type, or a data: URL with a
/// type of its own. Nothing if the string is neither. The caller sets number and ordinal.
std::optional<ImageRef> find_inline_image(std::string_view raw, std::string_view literal, std::string_view mime_type);

/// The media type of a data: URL; "" for other text.
std::string_view mime_type_of_url(std::string_view text);

/// The decoded bytes of an inline image. `offset` and `length` select a range; plain base64 is decoded piecewise.
/// Errors: stale, io.
Result<std::string> read_inline_image(const LogSource& log, const Entry& entry, const ImageRef& image,
                                      std::uint64_t offset, std::uint64_t length);

}  // namespace arborfs
