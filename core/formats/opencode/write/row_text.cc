#include "core/formats/opencode/write/row_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/utf8.h"

namespace arborfs::opencode {
namespace {

using sqlite::Statement;

/// Doubles, and so the numbers of JSON, are exact up to here.
constexpr std::int64_t kExact = std::int64_t{1} << 53U;

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xFU];
  }
  return hex;
}

std::optional<std::string> bytes_of(std::string_view hex) {
  std::string bytes;
  for (; hex.size() > 1; hex.remove_prefix(2)) {
    unsigned byte = 0;
    const auto end = std::from_chars(hex.data(), hex.data() + 2, byte, 16);
    if (end.ptr != hex.data() + 2) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
  }
  return hex.empty() ? std::optional(bytes) : std::nullopt;
}

template <class Number>
std::string text_of(Number number) {
  std::string text(40, '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  text.resize(static_cast<std::size_t>(end.ptr - text.data()));
  return text;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && end.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

void append_named(std::string_view kind, std::string_view value, std::string& out) {
  out.append("{\"").append(kind).append("\":\"").append(value).append("\"}");
}

void append_integer(std::int64_t number, std::string& out) {
  if (number > -kExact && number < kExact) {
    out += text_of(number);
  } else {
    append_named("integer", text_of(number), out);
  }
}

void append_text(std::string_view text, std::string& out) {
  if (json::is_valid_utf8(text)) {
    json::stringify_string(text, out);
  } else {
    append_named("text", hex_of(text), out);
  }
}

void append_value(const Statement& row, int column, std::string& out) {
  switch (row.kind(column)) {
    case Statement::Kind::null:
      out += "null";
      return;
    case Statement::Kind::integer:
      return append_integer(row.integer(column), out);
    case Statement::Kind::real:
      return append_named("real", text_of(row.real(column)), out);
    case Statement::Kind::blob:
      return append_named("blob", hex_of(row.blob(column)), out);
    case Statement::Kind::text:
      return append_text(row.text(column), out);
  }
}

void append_value(const CellValue& value, std::string& out) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    append_integer(*integer, out);
  } else if (const auto* real = std::get_if<double>(&value)) {
    append_named("real", text_of(*real), out);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    append_text(*text, out);
  } else if (const auto* blob = std::get_if<Blob>(&value)) {
    append_named("blob", hex_of(blob->bytes), out);
  } else {
    out += "null";
  }
}

Error no_row() {
  return {Errc::corrupt, "a row of the session in the trash cannot be read"};
}

template <class Value>
Result<CellValue> cell(std::optional<Value> value) {
  return value ? Result<CellValue>(CellValue(*std::move(value))) : no_row();
}

Result<CellValue> named_value(const json::Value& object) {
  if (const auto real = json::string_member(object, "real")) {
    return cell(number_of<double>(*real));
  }
  if (const auto integer = json::string_member(object, "integer")) {
    return cell(number_of<std::int64_t>(*integer));
  }
  if (const auto text = json::string_member(object, "text")) {
    return cell(bytes_of(*text));
  }
  if (const auto blob = json::string_member(object, "blob")) {
    if (auto bytes = bytes_of(*blob)) {
      return CellValue(Blob{*std::move(bytes)});
    }
  }
  return no_row();
}

Result<CellValue> value_of(const json::Value& value) {
  if (value.IsString()) {
    return CellValue(std::string(json::as_string(value)));
  }
  if (value.IsNumber()) {
    return CellValue(static_cast<std::int64_t>(value.GetDouble()));
  }
  if (value.IsNull()) {
    return CellValue(nullptr);
  }
  return named_value(value);
}

}  // namespace

std::string line_begin(std::string_view table, const Statement& rows) {
  std::string line = R"({"table":)";
  json::stringify_string(table, line);
  line += R"(,"columns":)";
  for (int column = 0; column < rows.columns(); ++column) {
    line += column == 0 ? '[' : ',';
    json::stringify_string(rows.column_name(column), line);
  }
  return line + R"(],"values":)";
}

void append_values(const Statement& row, std::string& lines) {
  for (int column = 0; column < row.columns(); ++column) {
    lines += column == 0 ? '[' : ',';
    append_value(row, column, lines);
  }
  lines += "]}\n";
}

void append_row(const Row& row, std::string& lines) {
  std::string columns;
  std::string values;
  for (const auto& [column, value] : row.cells) {
    columns += columns.empty() ? '[' : ',';
    json::stringify_string(column, columns);
    values += values.empty() ? '[' : ',';
    append_value(value, values);
  }
  lines += R"({"table":)" + json::stringify_string(row.table) + R"(,"columns":)" + columns + R"(],"values":)" + values +
           "]}\n";
}

Result<Row> parse_row(std::string_view line) {
  json::Document document;
  const bool is_json = json::parse(line, document);
  const auto table = is_json ? json::string_member(document, "table") : std::nullopt;
  const auto* columns = is_json ? json::member(document, "columns") : nullptr;
  const auto* values = is_json ? json::member(document, "values") : nullptr;
  if (!table || columns == nullptr || values == nullptr || !columns->IsArray() || !values->IsArray() ||
      columns->Size() != values->Size()) {
    return no_row();
  }
  Row row;
  row.table = *table;
  for (rapidjson::SizeType i = 0; i < columns->Size(); ++i) {
    if (!(*columns)[i].IsString()) {
      return no_row();
    }
    ASSIGN_OR_RETURN(auto value, value_of((*values)[i]));
    row.cells.emplace_back(json::as_string((*columns)[i]), std::move(value));
  }
  return row;
}

void bind(Statement& statement, int parameter, const CellValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    statement.bind(parameter, *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    statement.bind(parameter, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    statement.bind(parameter, std::string_view(*text));
  } else if (const auto* blob = std::get_if<Blob>(&value)) {
    statement.bind_blob(parameter, blob->bytes);
  }
}

}  // namespace arborfs::opencode
