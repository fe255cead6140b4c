// Records as agents write them, at full speed: the fields are noted where they stand. Nothing is copied or converted.
// Used by one thread.
#pragma once

#include <string_view>

#include "core/json/places.h"
#include "core/log/record_fields.h"

namespace arborfs {

class PlainRecordParser {
 public:
  /// Bytes that must be readable behind every text.
  static constexpr std::size_t kPadding = json::Places::kPadding;

  /// True when `text`, which must start with { or [ and end with its last byte that is no white space, is one value by
  /// the strictest reading and its fields are plain: no numbers, arrays or objects, nothing spelled with escapes. Fills
  /// the fields, not offset and length; their texts are parts of `text`. False tells nothing about `text`.
  bool parse(std::string_view text, RecordFields& record);

  /// Of what parse() took last.
  [[nodiscard]] const json::Places& places() const { return places_; }

 private:
  bool note_member(const json::Places::Cursor& member, RecordFields& record);
  bool note_role(json::Places::Place message, FieldValue& role);
  bool note(json::Places::Place value, FieldValue& field);

  json::Places places_;
};

}  // namespace arborfs
