// The image blocks of one entry of omp or pi: in the `content` and omp 18's `images` of a message or custom message.
#pragma once

#include <string_view>
#include <vector>

#include "core/render/text_sizes.h"

namespace arborfs {

/// Appends the image blocks of an entry in the order in which its text numbers them. A `blob:sha256:` reference without
/// 64 lower-case hex digits takes its number but is left out: it has no bytes to show (omp/FORMAT.md D7).
void find_images(Ordinal ordinal, EntryType type, std::string_view raw, std::vector<ImageRef>& images);

}  // namespace arborfs
