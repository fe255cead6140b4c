// A fast parser for lines that hold exactly one value. It tries the plain walk first (record_parser_dom.h), then
// simdjson's DOM. Used by one thread. Destroy it after the scan, because its buffers are many times a line's size.
#pragma once

#include <simdjson.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "core/formats/omp/log/record_parser_dom.h"
#include "core/log/record_fields.h"

namespace arborfs {

class SimdRecordParser {
 public:
  /// The longest line that may be passed to parse().
  static constexpr std::size_t kMaxLine = 4 * 1024 * 1024;

  /// `noter` is called for each plain record. It may be null; it must outlive this object.
  explicit SimdRecordParser(const ScanObserver* noter) : plain_(noter) {}

  /// True if `text` is one value by the strictest reading: then every lenient reading gives the same value. `text` must
  /// start with { or [ and must not end with white space, and 64 bytes after it must be readable. Fills the fields but
  /// not offset and length; the fields' texts are valid until the next call and point into `text` or this parser.
  bool parse(std::string_view text, RecordFields& record);

  /// The noter's notes on the last record that parse() accepted; null if that was not plain, or the noter gave none.
  [[nodiscard]] std::unique_ptr<ScanNotes> take_notes() { return plain_.take_notes(); }

 private:
  bool make_room(std::size_t length);
  void take(const simdjson::dom::element& value, FieldValue& field, bool want_json);
  void take_role(const simdjson::dom::element& message, FieldValue& role);

  DomRecordParser plain_;
  simdjson::dom::parser parser_;
  std::deque<std::string> json_texts_;  // the JSON of ids and labels that are arrays or objects
};

}  // namespace arborfs
