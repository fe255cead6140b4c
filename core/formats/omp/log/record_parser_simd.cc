#include "core/formats/omp/log/record_parser_simd.h"

#include "core/formats/omp/log/dialect_hints.h"
#include "core/json/escapes.h"
#include "core/log/log_window.h"

namespace arborfs {

namespace {

static_assert(json::kEscapePadding <= SimdRecordParser::kPadding);
static_assert(SimdRecordParser::kPadding <= LogWindow::kPadding);

bool is_escaped(std::string_view string) {
  return string.find('\\') != std::string_view::npos;
}

}  // namespace

bool SimdRecordParser::parse(std::string_view text, RecordFields& record) {
  notes_.reset();
  record = RecordFields();
  if (!places_.find(text) || !note_fields(record)) {
    return false;
  }
  if (noter_ != nullptr) {
    notes_ = noter_->read(record.entry_type(), text, places_);
  }
  return notes_ != nullptr || json::has_valid_escapes(text);
}

// False if the fields are not plain.
bool SimdRecordParser::note_fields(RecordFields& record) {
  if (places_.lead(0) == '[') {
    record.shape = RecordFields::Shape::array;
    return true;
  }
  for (json::Places::Cursor members(places_, 0); !members.done(); members.step()) {
    if (!note_member(members, record)) {
      return false;
    }
  }
  return true;
}

// False if the member is not plain.
bool SimdRecordParser::note_member(const json::Places::Cursor& member, RecordFields& record) {
  const std::string_view key = member.key();
  if (is_escaped(key)) {
    return false;
  }
  if (key == "message") {
    return note_role(member.value(), record.role);
  }
  if (FieldValue* const field = field_of(record, key)) {
    return note(member.value(), *field);
  }
  record.hints |= dialect_hint_of(key);
  return true;
}

// A later `message` replaces an earlier one, including all its members (omp/FORMAT.md A9).
bool SimdRecordParser::note_role(json::Places::Place message, FieldValue& role) {
  role = FieldValue();
  if (places_.lead(message) != '{') {
    return true;
  }
  for (json::Places::Cursor members(places_, message); !members.done(); members.step()) {
    const std::string_view key = members.key();
    if (is_escaped(key) || (key == "role" && !note(members.value(), role))) {
      return false;
    }
  }
  return true;
}

bool SimdRecordParser::note(json::Places::Place value, FieldValue& field) {
  field = FieldValue();
  switch (places_.lead(value)) {
    case '"':
      field.kind = FieldValue::Kind::string;
      field.text = places_.string(value);
      return !is_escaped(field.text);
    case 't':
    case 'f':
      field.kind = FieldValue::Kind::boolean;
      field.truth = places_.lead(value) == 't';
      return true;
    case 'n':
      field.kind = FieldValue::Kind::null;
      return true;
    default:
      return false;
  }
}

}  // namespace arborfs
