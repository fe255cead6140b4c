// Data for listing a session beyond the index: exact sizes of the rendered texts, the images, usage. Gathered while the
// index is made, or in a separate pass over the log when first needed later; extended as the log grows. 4 bytes per
// entry, plus the images. Not thread-safe: its owner (session/session.h) guards it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/scan_observer.h"
#include "core/model/usage.h"

namespace arborfs {

/// One image block of an entry (`content` and 18's `images` arrays of a message or custom message).
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

struct TextMeasure;    // text_measurer.h
class RecordRenderer;  // record_renderer.h

class TextSizes {
 public:
  /// The results of a pass over entries that the details lack; made without changing the details.
  struct Delta {
    Ordinal first = 1;
    std::vector<std::uint32_t> text_sizes;
    std::vector<ImageRef> images;
    UsageTotals usage{Dialect::omp13};  // of the whole log so far
    /// Adds the next entry.
    void add(EntryType type, const TextMeasure& measure);
  };
  explicit TextSizes(Dialect dialect) : usage_(dialect) {}

  /// Reads the new entries of a log. `entries` is a copy of the new part of the index, whose first entry has ordinal
  /// `first`. Errors: stale, io, interrupted.
  [[nodiscard]] Result<Delta> read(const LogSource& log, Ordinal first, const std::vector<Entry>& entries,
                                   const std::atomic<bool>* cancelled) const;
  /// Measures every entry of another agent's log, whose entries may be in any order. Errors: as read().
  [[nodiscard]] static Result<Delta> measure(const LogSource& log, const RecordRenderer& renderer,
                                             const LogIndex& index, const std::atomic<bool>* cancelled);
  void apply(Delta delta);

  [[nodiscard]] Ordinal size() const { return static_cast<Ordinal>(text_sizes_.size()); }
  [[nodiscard]] std::uint64_t text_size(Ordinal ordinal) const { return text_sizes_[ordinal - 1]; }
  [[nodiscard]] const std::vector<ImageRef>& images() const { return images_; }
  [[nodiscard]] const UsageTotals& usage() const { return usage_; }

 private:
  std::vector<std::uint32_t> text_sizes_;
  std::vector<ImageRef> images_;
  UsageTotals usage_;
};

/// Gathers details while an index is made.
class TextSizesObserver : public ScanObserver {
 public:
  /// `log` is the log that is indexed; it must outlive this.
  explicit TextSizesObserver(const LogSource& log) : log_(log) {}

  [[nodiscard]] std::unique_ptr<ScanNotes> read(EntryType type, std::string_view text,
                                                const json::Places& places) const override;
  void begin() override { delta_ = {}; }
  Result<void> take(const Entry& entry, std::uint64_t length, Dialect dialect, const ScanNotes* notes) override;

  /// The details of all entries; call it once the index has been made.
  [[nodiscard]] TextSizes take_details(Dialect dialect);

 private:
  const LogSource& log_;
  TextSizes::Delta delta_;
};

/// The decoded bytes of an inline image. `offset` and `length` select a range; plain base64 is decoded piecewise.
Result<std::string> read_inline_image(const LogSource& log, const Entry& entry, const ImageRef& image,
                                      std::uint64_t offset, std::uint64_t length);

}  // namespace arborfs
