// The few fields of a record that the index keeps, as values of JSON that point into memory of whoever read them.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/log/dialect_hints.h"
#include "core/log/log_index.h"

namespace arborfs {

/// A JSON value reduced to what ids, parents, labels and times need.
struct FieldValue {
  enum class Kind : std::uint8_t { missing, null, boolean, number, string, container };
  Kind kind = Kind::missing;
  bool truth = false;     // of a boolean
  double number = 0;      // of a number
  std::string_view text;  // of a string (WTF-8); JSON text of an array or object

  [[nodiscard]] bool is_string(std::string_view word) const { return kind == Kind::string && text == word; }
  /// JavaScript's ToBoolean.
  [[nodiscard]] bool is_truthy() const;
};

/// One record of the log: where its value lies, and its fields; all missing unless it is an object.
struct RecordFields {
  enum class Shape : std::uint8_t { scalar, array, object };
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Shape shape = Shape::object;
  FieldValue id;
  FieldValue parent;
  FieldValue type;
  FieldValue timestamp;
  FieldValue target;  // targetId of labels
  FieldValue label;
  FieldValue role;  // of `message`, when that is an object
  DialectHints telltales = 0;

  [[nodiscard]] EntryType entry_type() const;
};

/// Where the field of that key belongs; null for keys that the index does not keep. Not for `role`.
FieldValue* field_of(RecordFields& record, std::string_view key);

/// The value as an id; the text of a number is that of JavaScript (omp/FORMAT.md C2).
EntryId to_entry_id(const FieldValue& value);

/// A label as shown: the string, else the JSON text.
std::string shown_text(const FieldValue& value);

/// new Date(value).getTime() where the value is a string, a number or null (omp/FORMAT.md C15), else Entry::kNoTime.
std::int64_t to_timestamp(const FieldValue& value);

/// The same record with its texts copied to `texts`, whose elements stay where they are.
RecordFields with_own_texts(RecordFields record, std::deque<std::string>& texts);

}  // namespace arborfs
