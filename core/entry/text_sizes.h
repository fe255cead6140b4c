// Data for listing a session beyond the index: exact sizes of the rendered texts, the images, usage. Gathered in a pass
// over the log when it is first needed; extended as the log grows. 4 bytes per entry, plus the images. Not thread-safe:
// its owner (session/session.h) guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/usage.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"

namespace arborfs {

/// One image of an entry.
struct ImageRef {
  Ordinal ordinal = kNoEntry;
  std::uint32_t number = 0;       // from 1 within the entry
  std::string extension;          // png, jpg, ...
  std::string blob;               // 64 hex digits if it is a reference, else ""
  std::uint64_t data_offset = 0;  // inline: the base64 text within the entry's value, without the quotes
  std::uint64_t data_length = 0;
  std::uint64_t size = 0;     // of the decoded bytes if inline; for a blob, ask the store
  bool plain_base64 = false;  // no escapes, padding only at the end: any range can be decoded alone
};

/// The data of one entry that TextSizes gathers.
struct TextMeasure {
  std::uint64_t size = 0;        // of its text (text.h)
  std::vector<ImageRef> images;  // their ordinals are set when the measure is added
  std::optional<UsageReport> usage;
};

class TextSizes {
 public:
  /// The results of a pass over entries that the sizes lack; made without changing the sizes.
  struct Delta {
    Ordinal first = 1;
    std::vector<std::uint32_t> text_sizes;
    std::vector<ImageRef> images;
    UsageTotals usage;                 // of the whole log so far, without `reports`
    std::vector<UsageReport> reports;  // of requests of which other entries may report, too
    /// Adds the next entry.
    void add(const TextMeasure& measure);
  };
  /// An empty pass over the entries that come next.
  [[nodiscard]] Delta next() const {
    Delta delta;
    delta.first = size() + 1;
    delta.usage = usage_.settled();
    return delta;
  }
  void apply(Delta delta);
  /// The cost of the whole session, from the log's header (Header::cost).
  void set_session_cost(std::optional<double> cost) { session_cost_ = cost; }

  [[nodiscard]] Ordinal size() const { return static_cast<Ordinal>(text_sizes_.size()); }
  [[nodiscard]] std::uint64_t text_size(Ordinal ordinal) const { return text_sizes_[ordinal - 1]; }
  [[nodiscard]] const std::vector<ImageRef>& images() const { return images_; }
  /// With the cost of the session.
  [[nodiscard]] UsageTotals usage() const;

 private:
  std::vector<std::uint32_t> text_sizes_;
  std::vector<ImageRef> images_;
  UsageLedger usage_;  // of the entries
  std::optional<double> session_cost_;
};

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
