#include "core/formats/opencode/row_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/result_macros.h"
#include "core/formats/opencode/session_archive.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/render/names.h"

namespace arborfs::opencode {
namespace {

using sqlite::Statement;

constexpr std::string_view kRowSuffix = ".json";

Error no_such_row() {
  return {Errc::not_found, "the session has no such row in the database"};
}

/// The name of a row's file; nothing for a key that cannot be recovered from a name.
std::optional<std::string> name_of(std::string_view key) {
  std::string name = names::encode_file(std::string(key) + std::string(kRowSuffix));
  const auto back = names::decode_file(name);
  const bool is_exact = back && back->size() == key.size() + kRowSuffix.size() && back->starts_with(key);
  return is_exact && !key.empty() && !name.starts_with('.') ? std::optional(std::move(name)) : std::nullopt;
}

std::optional<std::string> key_of(std::string_view name) {
  auto key = names::decode_file(name);
  if (!key || key->size() <= kRowSuffix.size() || !key->ends_with(kRowSuffix)) {
    return std::nullopt;
  }
  key->resize(key->size() - kRowSuffix.size());
  return key;
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex.append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xFU]);
  }
  return hex;
}

/// A number that is read back as the same double, and never as an integer.
void append_real(double number, std::string& out) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, number);
  const std::string_view digits(text, static_cast<std::size_t>(end.ptr - text));
  if (!std::isfinite(number)) {
    out.append(R"({"real":")").append(digits).append("\"}");
    return;
  }
  out.append(digits).append(digits.find_first_of(".e") == std::string_view::npos ? ".0" : "");
}

/// A text, a number or null as such; a value that JSON cannot represent as an object of one member, in hex.
void append_cell(const Statement& row, int column, std::string& out) {
  switch (row.kind(column)) {
    case Statement::Kind::null:
      out += "null";
      return;
    case Statement::Kind::integer:
      out += std::to_string(row.integer(column));
      return;
    case Statement::Kind::real:
      return append_real(row.real(column), out);
    case Statement::Kind::blob:
      out.append(R"({"blob":")").append(hex_text(row.blob(column))).append("\"}");
      return;
    case Statement::Kind::text:
      break;
  }
  if (json::is_valid_utf8(row.text(column))) {
    json::stringify_string(row.text(column), out);
  } else {
    out.append(R"({"text":")").append(hex_text(row.text(column))).append("\"}");
  }
}

std::string object_of(const Statement& row) {
  std::string text;
  for (int column = 0; column < row.columns(); ++column) {
    text += column == 0 ? "{" : ",";
    json::stringify_string(row.column_name(column), text);
    text += ':';
    append_cell(row, column, text);
  }
  return text + "}\n";
}

/// When the row was last written; nothing if the row does not record it.
std::optional<std::int64_t> time_of(const Statement& row) {
  for (int column = 0; column < row.columns(); ++column) {
    if (row.column_name(column) == "time_updated" && row.kind(column) == Statement::Kind::integer) {
      return std::max(nanos_of_millis(row.integer(column)), std::int64_t{0});
    }
  }
  return std::nullopt;
}

}  // namespace

struct RowFiles::Table {
  std::string_view name;
  std::string_view key;    // the column that names a row of the session
  std::string_view where;  // selects the rows of the session ?1
};

struct RowFiles::RowText {
  std::string text;
  std::int64_t mtime_ns = 0;
};

const std::vector<RowFiles::Table>& RowFiles::tables() {
  static const std::vector<Table> tables = {
      {"session", "id", "id = ?1"},
      {"message", "id", "session_id = ?1"},
      {"part", "id", "session_id = ?1"},
      {"todo", "position", "session_id = ?1"},
      {"project", "id", "id = (SELECT project_id FROM session WHERE id = ?1)"},
      {"event_sequence", "aggregate_id", "aggregate_id = ?1"},
  };
  return tables;
}

/// The table of a path; null if there is none.
const RowFiles::Table* RowFiles::table_of(std::string_view path) {
  const std::string_view name = path.substr(0, path.find('/'));
  const auto found =
      std::find_if(tables().begin(), tables().end(), [name](const Table& table) { return table.name == name; });
  return found == tables().end() ? nullptr : &*found;
}

/// The result of `convert` for each row; it may leave rows out. A version of the database that lacks the table or a
/// column has no rows.
template <class Value, class Convert>
Result<std::vector<Value>> RowFiles::select(const Table& table, const Wanted& wanted, const Convert& convert) const {
  std::string sql = "SELECT " + std::string(wanted.columns) + " FROM " + std::string(table.name) + " WHERE " +
                    std::string(table.where);
  if (!wanted.key.empty()) {
    sql += " AND " + std::string(table.key) + " = ?2";
  }
  sql += wanted.only_one ? " LIMIT 1" : " ORDER BY " + std::string(table.key);
  std::vector<Value> found;
  RETURN_IF_ERROR(database_.read([&](const sqlite::Connection& connection) -> Result<void> {
    found.clear();
    auto rows = connection.prepare(sql);
    if (!rows) {
      return rows.error().code == Errc::unsupported ? Result<void>() : Result<void>(rows.error());
    }
    rows->bind(1, session_);
    if (!wanted.key.empty()) {
      rows->bind(2, wanted.key);
    }
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_row, rows->step());
      if (!has_row) {
        return {};
      }
      if (std::optional<Value> value = convert(*rows)) {
        found.push_back(*std::move(value));
      }
    }
  }));
  return found;
}

/// `key`: "" for any.
Result<bool> RowFiles::has_row(const Table& table, std::string_view key) const {
  const auto any = [](const Statement&) { return std::optional('x'); };
  ASSIGN_OR_RETURN(const auto found, select<char>(table, {"1", key, true}, any));
  return !found.empty();
}

Result<RowFiles::RowText> RowFiles::row_text(const std::string& path) const {
  const Table* table = table_of(path);
  const std::size_t slash = path.find('/');
  const auto key = slash == std::string::npos ? std::nullopt : key_of(std::string_view(path).substr(slash + 1));
  if (table == nullptr || !key) {
    return no_such_row();
  }
  ASSIGN_OR_RETURN(const auto state, database_.state());
  const auto text_of = [&](const Statement& row) {
    return std::optional(RowText{object_of(row), time_of(row).value_or(state.mtime_ns())});
  };
  ASSIGN_OR_RETURN(auto found, select<RowText>(*table, {"*", *key, true}, text_of));
  return found.empty() ? Result<RowText>(no_such_row()) : std::move(found.front());
}

Result<bool> RowFiles::is_folder(const std::string& path) const {
  const Table* table = table_of(path);
  const std::size_t slash = path.find('/');
  const auto key = slash == std::string::npos ? std::string() : key_of(std::string_view(path).substr(slash + 1));
  if (path.empty()) {
    return true;
  }
  if (table == nullptr || !key) {
    return no_such_row();
  }
  ASSIGN_OR_RETURN(const bool is_there, has_row(*table, *key));
  return is_there ? Result<bool>(slash == std::string::npos) : no_such_row();
}

Result<ShownFiles::Stat> RowFiles::stat(const std::string& path) const {
  if (path.find('/') != std::string::npos) {
    ASSIGN_OR_RETURN(const auto row, row_text(path));
    return Stat{false, row.text.size(), row.mtime_ns};
  }
  RETURN_IF_ERROR(is_folder(path));
  ASSIGN_OR_RETURN(const auto state, database_.state());
  return Stat{true, 0, state.mtime_ns()};
}

Result<std::vector<ShownFiles::Item>> RowFiles::list(const std::string& path) const {
  std::vector<Item> items;
  if (path.empty()) {
    for (const Table& table : tables()) {
      ASSIGN_OR_RETURN(const bool is_there, has_row(table, ""));
      if (is_there) {
        items.push_back({std::string(table.name), true});
      }
    }
    return items;
  }
  const Table* table = table_of(path);
  if (table == nullptr || path != table->name) {
    return no_such_row();
  }
  return select<Item>(*table, {table->key, "", false}, [](const Statement& row) {
    auto name = name_of(row.text(0));
    return name ? std::optional(Item{*std::move(name), false}) : std::nullopt;
  });
}

Result<ShownFiles::Content> RowFiles::open(const std::string& path) const {
  ASSIGN_OR_RETURN(auto row, row_text(path));
  return Content(std::move(row.text));
}

}  // namespace arborfs::opencode
