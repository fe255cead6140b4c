// Records as agents write them, at full speed: simdjson finds where the values of a line start, one walk over these
// places checks the grammar and notes the fields. Nothing is copied or converted. Used by one thread.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/log/record_fields.h"

namespace arborfs {

class PlainRecordParser {
 public:
  /// Bytes that must be readable behind every text.
  static constexpr std::size_t kPadding = 64;

  /// True when `text`, which must start with { or [ and end with its last byte that is no white space, is one value by
  /// the strictest reading and its fields are plain: no numbers, arrays or objects, nothing spelled with escapes. Fills
  /// the fields, not offset and length; their texts are parts of `text`. False tells nothing about `text`.
  bool parse(std::string_view text, RecordFields& record);

 private:
  bool make_room(std::size_t length);
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage_one_;
};

}  // namespace arborfs
