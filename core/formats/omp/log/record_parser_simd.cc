#include "core/formats/omp/log/record_parser_simd.h"

#include <algorithm>
#include <bit>

#include "core/formats/omp/log/dialect_hints.h"
#include "core/json/document.h"
#include "core/log/log_window.h"

namespace arborfs {

namespace {

constexpr std::size_t kSmallestCapacity = 4 * 1024;
static_assert(simdjson::SIMDJSON_PADDING <= LogWindow::kPadding);
static_assert(DomRecordParser::kPadding <= LogWindow::kPadding);

}  // namespace

bool SimdRecordParser::parse(std::string_view text, RecordFields& record) {
  if (plain_.parse(text, record)) {
    return true;
  }
  simdjson::dom::element root;
  if (!make_room(text.size()) || parser_.parse(text.data(), text.size(), false).get(root) != simdjson::SUCCESS) {
    return false;
  }
  record = RecordFields();
  json_texts_.clear();
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    record.shape = RecordFields::Shape::array;
    return true;
  }
  simdjson::dom::element label;
  for (const auto member : object) {
    if (member.key == "message") {
      take_role(member.value, record.role);
    } else if (FieldValue* field = field_of(record, member.key)) {
      const bool is_label = field == &record.label;
      take(member.value, *field, !is_label && field != &record.type && field != &record.timestamp);
      label = is_label ? member.value : label;
    } else {
      record.hints |= dialect_hint_of(member.key);
    }
  }
  if (record.label.kind == FieldValue::Kind::container && record.entry_type() == EntryType::label) {
    take(label, record.label, true);
  }
  return true;
}

// Rounds up to a power of two, so that the buffers are not reallocated for each longer line.
bool SimdRecordParser::make_room(std::size_t length) {
  if (length <= parser_.capacity()) {
    return true;
  }
  const std::size_t capacity = std::bit_ceil(std::max(length, kSmallestCapacity));
  return parser_.allocate(capacity) == simdjson::SUCCESS && parser_.doc.allocate(capacity) == simdjson::SUCCESS;
}

void SimdRecordParser::take(const simdjson::dom::element& value, FieldValue& field, bool want_json) {
  field = FieldValue();
  switch (value.type()) {
    case simdjson::dom::element_type::NULL_VALUE:
      field.kind = FieldValue::Kind::null;
      return;
    case simdjson::dom::element_type::BOOL:
      field.kind = FieldValue::Kind::boolean;
      field.truth = value.get_bool().value_unsafe();
      return;
    case simdjson::dom::element_type::STRING:
      field.kind = FieldValue::Kind::string;
      field.text = value.get_string().value_unsafe();
      return;
    case simdjson::dom::element_type::ARRAY:
    case simdjson::dom::element_type::OBJECT:
      field.kind = FieldValue::Kind::container;
      if (want_json) {
        json::canonicalize(simdjson::minify(value), json_texts_.emplace_back());
        field.text = json_texts_.back();
      }
      return;
    default:
      field.kind = FieldValue::Kind::number;
      field.number = value.get_double().value_unsafe();
  }
}

// A later `message` replaces an earlier one, including all its members (omp/FORMAT.md A9).
void SimdRecordParser::take_role(const simdjson::dom::element& message, FieldValue& role) {
  role = FieldValue();
  simdjson::dom::object object;
  if (message.get(object) != simdjson::SUCCESS) {
    return;
  }
  for (const auto member : object) {
    if (member.key == "role") {
      take(member.value, role, false);
    }
  }
}

}  // namespace arborfs
