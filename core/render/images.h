// The bytes of inline images, which entries hold as base64. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/log/log_source.h"
#include "core/render/text_sizes.h"

namespace arborfs {

/// Sets where the data of an inline image is and how it is spelled. `literal` is a JSON string within `raw`, the
/// entry's value.
void locate_base64(std::string_view raw, std::string_view literal, ImageRef& image);

/// The decoded bytes of an inline image. `offset` and `length` select a range; plain base64 is decoded piecewise.
/// Errors: stale, io.
Result<std::string> read_inline_image(const LogSource& log, const Entry& entry, const ImageRef& image,
                                      std::uint64_t offset, std::uint64_t length);

}  // namespace arborfs
