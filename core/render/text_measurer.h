// What a reader that goes through a whole log gathers of its entries. Internal to core/render.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_index.h"
#include "core/model/usage.h"
#include "core/render/plain_node.h"
#include "core/render/text_sizes.h"

namespace arborfs {

/// What TextSizes gathers of one entry.
struct TextMeasure {
  std::uint64_t size = 0;        // text_size()
  std::vector<ImageRef> images;  // their ordinals are for the caller to set
  std::optional<Usage> usage;
};

/// Measures entries one after the other. Used by one thread.
class TextMeasurer {
 public:
  /// Bytes that must be readable behind every entry, of any value.
  static constexpr std::size_t kPadding = 64;
  /// `raw` is the JSON value of an entry of any length.
  TextMeasure measure(EntryType type, std::string_view raw);
  /// Of one that was taken apart already; nothing when that does not suffice, or an escape in it is none of JSON's:
  /// this is the only look at them (scan_observer.h).
  std::optional<TextMeasure> measure(EntryType type, std::string_view raw, const json::Places& places);

 private:
  json::Places places_;
  RawText spelled_;
};

/// render_text by the slow parser alone, without limits; tests hold the two to one answer.
void render_text_slowly(EntryType type, std::string_view raw, std::string& out);

/// Size of what render_too_long appends.
std::uint64_t too_long_size(std::uint64_t length);

}  // namespace arborfs
