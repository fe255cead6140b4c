// The few fields of a record that the index keeps, as JSON values whose texts point into the memory of their reader.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

#include "core/base/hash.h"
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

// A hash of a record's bytes, three times as fast as xxh64 for long ones. Not kept on any disk. Pure; any thread.

namespace record_hash_parts {

inline std::uint64_t load(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// Both halves of the product, folded.
inline std::uint64_t fold(std::uint64_t one, std::uint64_t other) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(one) * other;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

}  // namespace record_hash_parts

inline std::uint64_t record_hash(std::string_view bytes) {
  using record_hash_parts::fold;
  using record_hash_parts::load;
  constexpr std::size_t kBlock = 64;
  constexpr std::uint64_t kOne = 0x9E3779B185EBCA87;
  constexpr std::uint64_t kTwo = 0xC2B2AE3D27D4EB4F;
  constexpr std::uint64_t kThree = 0x165667B19E3779F9;
  constexpr std::uint64_t kFour = 0x85EBCA77C2B2AE63;
  std::uint64_t a = kOne;
  std::uint64_t b = kTwo;
  std::uint64_t c = kThree;
  std::uint64_t d = bytes.size();
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) {
    const char* const p = bytes.data();
    a = fold(load(p) ^ a, load(p + 8) ^ kOne) + kFour;
    b = fold(load(p + 16) ^ b, load(p + 24) ^ kTwo) + kThree;
    c = fold(load(p + 32) ^ c, load(p + 40) ^ kThree) + kTwo;
    d = fold(load(p + 48) ^ d, load(p + 56) ^ kFour) + kOne;
  }
  return xxh64(bytes, fold(a ^ kTwo, b) ^ fold(c ^ kFour, d));
}

}  // namespace arborfs
