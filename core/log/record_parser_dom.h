// Records as agents write them, at full speed: the fields are noted where they stand. Nothing is copied or converted.
// Used by one thread.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "core/json/places.h"
#include "core/log/record_fields.h"
#include "core/log/scan_observer.h"

namespace arborfs {

class DomRecordParser {
 public:
  /// Bytes that must be readable behind every text.
  static constexpr std::size_t kPadding = json::Places::kPadding;

  /// `noter` is asked about each record, and about some texts that turn out to be none; it may be null, and must
  /// outlive this.
  explicit DomRecordParser(const ScanObserver* noter = nullptr) : noter_(noter) {}

  /// True when `text`, which must start with { or [ and end with its last byte that is no white space, is one value by
  /// the strictest reading and its fields are plain: no numbers, arrays or objects, nothing spelled with escapes. Fills
  /// the fields, not offset and length; their texts are parts of `text`. False tells nothing about `text`.
  bool parse(std::string_view text, RecordFields& record);

  /// What the noter says of what parse() took last; null for no answer.
  [[nodiscard]] std::unique_ptr<ScanNotes> take_notes() { return std::move(notes_); }

 private:
  bool note_fields(RecordFields& record);
  bool note_member(const json::Places::Cursor& member, RecordFields& record);
  bool note_role(json::Places::Place message, FieldValue& role);
  bool note(json::Places::Place value, FieldValue& field);

  const ScanObserver* const noter_;
  json::Places places_;
  std::unique_ptr<ScanNotes> notes_;
};

}  // namespace arborfs
