#include "core/formats/omp/log/record_parser_stream.h"

#include <cstdlib>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/dialect_hints.h"
#include "core/json/document.h"

namespace arborfs {

namespace {

constexpr std::size_t kLongestEscape = 12;  // a surrogate pair

// The value of a string literal. Unless `complete`, the literal may have been cut at any byte.
std::string unescape(std::string_view literal, bool complete) {
  json::Document value;
  if (complete) {
    return json::parse(literal, value) && value.IsString() ? std::string(json::as_string(value)) : std::string();
  }
  for (std::size_t back = 0; back <= kLongestEscape && back < literal.size(); ++back) {
    std::string closed(literal.substr(0, literal.size() - back));
    closed += '"';
    if (json::parse(closed, value) && value.IsString()) {
      return std::string(json::as_string(value));
    }
  }
  return {};
}

std::string spelled_key(std::string_view key) {
  if (key.find('\\') == std::string_view::npos) {
    return std::string(key);
  }
  std::string literal = "\"";
  literal += key;
  literal += '"';
  return unescape(literal, true);
}

// The longest spelling of a key that matters here: every letter as \u00xx.
constexpr std::size_t kLongestKey = 28 * 6;

}  // namespace

void StreamedRecord::reset() {
  record_ = RecordFields();
  texts_.clear();
  containers_.clear();
  open_ = nullptr;
}

void StreamedRecord::on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw, bool complete) {
  if (key.size() > kLongestKey || parent_key.size() > kLongestKey) {
    return;
  }
  const std::string name = spelled_key(key);
  if (!parent_key.empty()) {
    if (name == "role" && spelled_key(parent_key) == "message") {
      take(record_.role, raw, complete);
    }
    return;
  }
  if (name == "message") {
    record_.role = FieldValue();
  } else if (FieldValue* field = field_of(record_, name)) {
    take(*field, raw, complete);
  } else {
    record_.hints |= dialect_hint_of(name);
  }
}

void StreamedRecord::on_container(std::string_view key, char opener, std::uint64_t offset) {
  open_ = nullptr;
  if (key.size() > kLongestKey) {
    return;
  }
  const std::string name = spelled_key(key);
  if (name == "message") {
    record_.role = FieldValue();
  } else if (FieldValue* field = field_of(record_, name)) {
    *field = FieldValue();
    field->kind = FieldValue::Kind::container;
    open_ = &containers_.insert_or_assign(field, Container{offset, offset, opener}).first->second;
  } else {
    record_.hints |= dialect_hint_of(name);
  }
}

void StreamedRecord::on_container_end(std::uint64_t offset) {
  if (open_ != nullptr) {
    open_->end = offset;
    open_ = nullptr;
  }
}

Result<RecordFields> StreamedRecord::finish(LogWindow& window, std::uint64_t offset, std::uint64_t length) {
  for (const auto& [field, container] : containers_) {
    if (field->kind == FieldValue::Kind::container) {
      RETURN_IF_ERROR(read_container(window, offset, container, *field));
    }
  }
  record_.offset = offset;
  record_.length = length;
  return record_;
}

void StreamedRecord::take(FieldValue& field, std::string_view raw, bool complete) {
  field = FieldValue();
  if (raw.front() == '"') {
    field.kind = FieldValue::Kind::string;
    field.text = texts_[&field] = unescape(raw, complete);
  } else if (raw == "null") {
    field.kind = FieldValue::Kind::null;
  } else if (raw == "true" || raw == "false") {
    field.kind = FieldValue::Kind::boolean;
    field.truth = raw == "true";
  } else {
    json::Document value;
    field.kind = FieldValue::Kind::number;
    field.number = json::parse(raw, value) && value.IsNumber() ? value.GetDouble() : 0;
  }
}

Result<void> StreamedRecord::read_container(LogWindow& window, std::uint64_t base, const Container& container,
                                            FieldValue& field) {
  std::string& text = texts_[&field];
  text.clear();
  if (container.end - container.start > kMaxContainer) {
    text = container.opener == '{' ? "{}" : "[]";
  } else {
    const auto size = static_cast<std::size_t>(container.end - container.start);
    ASSIGN_OR_RETURN(auto bytes, window.view(base + container.start, size));
    json::canonicalize(bytes.substr(0, size), text);
  }
  field.text = text;
  return {};
}

}  // namespace arborfs
