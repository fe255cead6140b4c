// Measures entries for a reader that goes through a whole log. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/render/plain_node.h"
#include "core/log/log_index.h"
#include "core/render/text_sizes.h"

namespace arborfs {

/// Measures entries one after another. Used by one thread.
class TextMeasurer {
 public:
  /// Bytes that must be readable after every entry; their values do not matter.
  static constexpr std::size_t kPadding = 64;
  /// `raw` is the JSON value of an entry of any length.
  TextMeasure measure(EntryType type, std::string_view raw);
  /// For an entry that was parsed already. Nothing if its places are not enough, or one of its escapes is not a JSON
  /// escape: this is the only check of them (scan_observer.h).
  std::optional<TextMeasure> measure(EntryType type, std::string_view raw, const json::Places& places);

 private:
  json::Places places_;
  RawText spelled_;
};

/// render_text with only the slow parser and without limits; tests compare the two.
void render_text_slowly(EntryType type, std::string_view raw, std::string& out);

}  // namespace arborfs
