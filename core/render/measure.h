// Sizes of rendered texts for a reader that goes through a whole log. Internal to core/render.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

/// Bytes that must be readable behind `raw` for measure_text.
inline constexpr std::size_t kReadAhead = 64;

struct TextMeasure {
  std::uint64_t size = 0;    // text_size()
  std::uint32_t images = 0;  // image blocks mentioned in the text
  bool has_usage = true;     // false when UsageTotals would find nothing in the entry
};
/// `raw` is followed by kReadAhead readable bytes of any value; at most kMaxRenderedEntry long.
TextMeasure measure_text(EntryType type, std::string_view raw);

/// render_text by the slow parser alone, without limits; tests hold the two to one answer.
void render_text_slowly(EntryType type, std::string_view raw, std::string& out);

/// Size of what render_too_long appends.
std::uint64_t too_long_size(std::uint64_t length);

}  // namespace arborfs
