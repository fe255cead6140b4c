#include "core/log/record_fields.h"

#include <cmath>

#include "core/json/date.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs {

namespace {

constexpr double kMaxTime = 8.64e15;  // ECMAScript TimeClip
constexpr std::string_view kIsoShape = "dddd-dd-ddTdd:dd:dd.dddZ";

bool has_iso_shape(std::string_view text) {
  if (text.size() != kIsoShape.size()) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kIsoShape[i] == 'd' ? !is_digit : text[i] != kIsoShape[i]) {
      return false;
    }
  }
  return true;
}

std::int64_t digits(std::string_view text, std::size_t at, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Days since 1970-01-01 in the Gregorian calendar, by counting years from March.
std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t from_march = (month + 9) % 12;
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * from_march + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

// Accepts only texts to which no overflow rule applies; parse_date handles the rest.
bool parse_plain_iso(std::string_view text, std::int64_t& milliseconds) {
  if (!has_iso_shape(text)) {
    return false;
  }
  const std::int64_t month = digits(text, 5, 2);
  const std::int64_t day = digits(text, 8, 2);
  const std::int64_t hour = digits(text, 11, 2);
  const std::int64_t minute = digits(text, 14, 2);
  const std::int64_t second = digits(text, 17, 2);
  if (month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59) {
    return false;
  }
  const std::int64_t days = days_since_1970(digits(text, 0, 4), month, day);
  milliseconds = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + digits(text, 20, 3);
  return true;
}

}  // namespace

bool FieldValue::is_truthy() const {
  switch (kind) {
    case Kind::missing:
    case Kind::null:
      return false;
    case Kind::boolean:
      return truth;
    case Kind::number:
      return number != 0 && !std::isnan(number);
    case Kind::string:
      return !text.empty();
    default:
      return true;
  }
}

EntryType RecordFields::entry_type() const {
  return type.kind == FieldValue::Kind::string ? entry_type_of(type.text) : EntryType::none;
}

FieldValue* field_of(RecordFields& record, std::string_view key) {
  switch (key.size()) {
    case 2:
      return key == "id" ? &record.id : nullptr;
    case 4:
      return key == "type" ? &record.type : nullptr;
    case 5:
      return key == "label" ? &record.label : nullptr;
    case 8:
      return key == "parentId" ? &record.parent : key == "targetId" ? &record.target : nullptr;
    case 9:
      return key == "timestamp" ? &record.timestamp : nullptr;
    default:
      return nullptr;
  }
}

EntryId to_entry_id(const FieldValue& value) {
  switch (value.kind) {
    case FieldValue::Kind::missing:
      return {};
    case FieldValue::Kind::null:
      return {EntryId::Kind::other, "null"};
    case FieldValue::Kind::boolean:
      return {EntryId::Kind::other, value.truth ? "true" : "false"};
    case FieldValue::Kind::number:
      if (std::isinf(value.number)) {  // JSON has no literal for infinity, and null would be another id
        return {EntryId::Kind::other, value.number < 0 ? "-1e999" : "1e999"};
      }
      return {EntryId::Kind::other, json::number_text(value.number)};
    case FieldValue::Kind::string:
      return {EntryId::Kind::string, std::string(value.text)};
    default:
      return {EntryId::Kind::other, std::string(value.text)};
  }
}

std::string shown_text(const FieldValue& value) {
  if (value.kind == FieldValue::Kind::string) {
    return std::string(value.text);
  }
  return value.kind == FieldValue::Kind::number ? json::number_text(value.number) : to_entry_id(value).text;
}

std::int64_t to_timestamp(const FieldValue& value) {
  if (value.kind == FieldValue::Kind::null) {
    return 0;
  }
  if (value.kind == FieldValue::Kind::number && std::fabs(value.number) <= kMaxTime) {
    return static_cast<std::int64_t>(value.number);
  }
  if (value.kind != FieldValue::Kind::string) {
    return Entry::kNoTime;
  }
  std::int64_t milliseconds = 0;
  if (parse_plain_iso(value.text, milliseconds)) {
    return milliseconds;
  }
  return json::parse_date(value.text).value_or(Entry::kNoTime);
}

RecordFields with_own_texts(RecordFields record, std::deque<std::string>& texts) {
  for (FieldValue* field : {&record.id, &record.parent, &record.type, &record.timestamp, &record.target, &record.label,
                            &record.role, &record.before}) {
    if (!field->text.empty()) {
      field->text = texts.emplace_back(field->text);
    }
  }
  return record;
}

}  // namespace arborfs
