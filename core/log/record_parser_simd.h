// Records at full speed: one line, one value, checked and taken apart by simdjson, in a plain walk where that is enough
// (record_parser_dom.h). A parser serves one thread and is let go after the scan, for its buffers are many times a
// line's size.
#pragma once

#include <simdjson.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "core/log/record_fields.h"
#include "core/log/record_parser_dom.h"

namespace arborfs {

class SimdRecordParser {
 public:
  /// Longer lines are not for this parser.
  static constexpr std::size_t kMaxLine = 4 * 1024 * 1024;

  /// `noter` is asked about each plain record, and may be null; it must outlive this.
  explicit SimdRecordParser(const ScanObserver* noter) : plain_(noter) {}

  /// True when `text`, which must start with { or [ and end with its last byte that is no white space, is one value
  /// by the strictest reading: then every lenient reading agrees. Fills the fields, not offset and length; they live
  /// until the next call. 64 bytes behind `text` must be readable.
  bool parse(std::string_view text, RecordFields& record);

  /// What the noter says of what parse() took last; null when that was not plain, or for no answer.
  [[nodiscard]] std::unique_ptr<ScanNotes> take_notes() { return plain_.take_notes(); }

 private:
  bool make_room(std::size_t length);
  void take(const simdjson::dom::element& value, FieldValue& field, bool want_json);
  void take_role(const simdjson::dom::element& message, FieldValue& role);

  DomRecordParser plain_;
  simdjson::dom::parser parser_;
  std::deque<std::string> json_texts_;  // of ids and labels that are arrays or objects
};

}  // namespace arborfs
