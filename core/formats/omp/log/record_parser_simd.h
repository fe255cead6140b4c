// A fast parser for records in the form that agents write, on the places that simdjson finds: fields point into the
// text, and nothing is copied or converted. Texts that it does not accept are left to the exact reader
// (record_parser_stream.h). Used by one thread.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "core/json/places.h"
#include "core/log/record_fields.h"
#include "core/log/scan_observer.h"

namespace arborfs {

class SimdRecordParser {
 public:
  /// Longer texts are left to the exact reader, because the places of a text may take several times its size.
  static constexpr std::size_t kMaxLine = 4 * 1024 * 1024;
  /// Bytes that must be readable after every text.
  static constexpr std::size_t kPadding = json::Places::kPadding;

  /// `noter` is called for each record, and for some texts that turn out not to be records. It may be null; it must
  /// outlive this object.
  explicit SimdRecordParser(const ScanObserver* noter = nullptr) : noter_(noter) {}

  /// True if `text` is one value by the strictest reading and its fields are plain: no numbers, arrays or objects, and
  /// no escapes. `text` must start with { or [ and must not end with white space. Fills the fields but not offset and
  /// length; the fields' texts point into `text`. False says nothing about `text`.
  bool parse(std::string_view text, RecordFields& record);

  /// The noter's notes on the last record that parse() accepted; null if the noter gave none.
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
