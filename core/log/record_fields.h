// The few fields of a record that the index keeps, as JSON values whose texts point into the memory of their reader.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

/// A JSON value, reduced to the data that ids, parents, labels and times need.
struct FieldValue {
  enum class Kind : std::uint8_t { missing, null, boolean, number, string, container };
  Kind kind = Kind::missing;
  bool truth = false;     // for a boolean
  double number = 0;      // for a number
  std::string_view text;  // for a string, its WTF-8; for an array or object, its JSON text

  [[nodiscard]] bool is_string(std::string_view word) const { return kind == Kind::string && text == word; }
  static FieldValue of(std::string_view text) { return {Kind::string, false, 0, text}; }
  /// JavaScript's ToBoolean.
  [[nodiscard]] bool is_truthy() const;
};

/// One record of the log: the place of its value, and its fields, which are all missing unless it is an object.
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
  FieldValue role;          // of `message`, if that is an object
  FieldValue before;        // the id of the entry before it for people, if the record names one beside its parent
  bool is_aside = false;    // of another conversation in the same log: that of a sub-agent
  std::uint32_t hints = 0;  // bits of the format's reader: which of the keys that it looks for are there

  [[nodiscard]] EntryType entry_type() const;
};

/// The field for a top-level key; null for keys that the index does not keep. Never `role`.
FieldValue* field_of(RecordFields& record, std::string_view key);

/// The value as an id; a number's text is as JavaScript prints it (omp/FORMAT.md C2).
EntryId to_entry_id(const FieldValue& value);

/// A label as shown: the string, or the JSON text of any other value.
std::string shown_text(const FieldValue& value);

/// new Date(value).getTime() of a string, a number or null (omp/FORMAT.md C15); Entry::kNoTime for NaN and the rest.
std::int64_t to_timestamp(const FieldValue& value);

/// The same record, with its texts copied to `texts`. Elements of a deque never move, so the texts stay valid.
RecordFields with_own_texts(RecordFields record, std::deque<std::string>& texts);

}  // namespace arborfs
