
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/formats/opencode/json_archive.h"
#include "core/formats/opencode/session_archive.h"
#include "core/formats/opencode/sqlite_rows.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/sqlite/database.h"
#include "core/store/finding.h"
#include "core/store/stored_files.h"

namespace arborfs::opencode {
namespace {

// Finds faults of OpenCode's database. Changes nothing. Any thread.

/// True, in SQL, for data that is not a JSON object. SQLite's JSON functions fail for text that is not JSON.
constexpr std::string_view kMalformed = "CASE WHEN json_valid(data) THEN json_type(data) <> 'object' ELSE 1 END";

/// Calls `take` with the id in each row.
template <class Take>
Result<void> each_id(const sqlite::Connection& connection, const std::string& sql, const std::string& session,
                     const Take& take) {
  ASSIGN_OR_RETURN(auto rows, connection.query(sql, session));
  return rows.each_row([&](const sqlite::Statement& row) { take(std::string(row.text(0))); });
}

Result<void> find_in_rows(const sqlite::Connection& connection, const std::string& session,
                          std::vector<Finding>& found) {
  const std::string malformed(kMalformed);
  const auto add_malformed = [&](const std::string& what) {
    return [&found, what](const std::string& id) {
      found.push_back({"malformed_row", "the row of the " + what + " " + id + " is not a JSON object"});
    };
  };
  RETURN_IF_ERROR(each_id(connection, "SELECT id FROM message WHERE session_id = ?1 AND " + malformed, session,
                          add_malformed("message")));
  RETURN_IF_ERROR(
      each_id(connection,
              "SELECT id FROM part WHERE message_id IN (SELECT id FROM message WHERE session_id = ?1) AND " + malformed,
              session, add_malformed("part")));
  return each_id(connection,
                 "SELECT id FROM message WHERE session_id = ?1 AND CASE WHEN json_valid(data) THEN json_extract(data, "
                 "'$.role') = 'user' END AND NOT EXISTS (SELECT 1 FROM part WHERE message_id = message.id)",
                 session, [&](const std::string& id) {
                   found.push_back({"missing_parts", "the prompt " + id + " has no parts, so its text is unknown"});
                 });
}

/// Rows of a session that are not JSON objects, and prompts without a part.
std::vector<Finding> faults_of_rows(const sqlite::Database& database, const std::string& session) {
  std::vector<Finding> found;
  const auto done = database.read([&](const sqlite::Connection& connection) {
    found.clear();
    return find_in_rows(connection, session, found);
  });
  if (!done) {
    found.push_back({"unreadable", "its rows cannot be examined: " + done.error().message});
  }
  return found;
}

/// Faults of the database as a whole: its structure, its references, its tables.
std::vector<FileFinding> faults_of_database(const sqlite::Database& database) {
  std::vector<FileFinding> found;
  const auto known = database.read([](const sqlite::Connection& connection) -> Result<void> {
    RETURN_IF_ERROR(SqliteRows::of(connection));
    return {};
  });
  if (!known && known.error().code == Errc::unsupported) {
    found.push_back({database.path(), {"unknown_schema", known.error().message}});
  }
  for (sqlite::IntegrityFault& fault : sqlite::integrity_faults(database)) {
    found.push_back({database.path(), {fault.kind, std::move(fault.text)}});
  }
  return found;
}

/// The rows of one session in OpenCode's database, for ShownFiles: `<table>/<key>.json` is one row as a JSON object of
/// its columns, generated on request. Only tables with sessions are read (opencode/FORMAT.md A3). Thread-safe.
class RowFiles final : public ShownFiles {
 public:
  /// `database` outlives it.
  RowFiles(const sqlite::Database& database, std::string session) : database_(database), session_(std::move(session)) {}

  [[nodiscard]] bool takes_long(const std::string& path) const override { return !path.empty(); }
  [[nodiscard]] Result<Stat> stat(const std::string& path) const override;
  [[nodiscard]] Result<bool> is_folder(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<Item>> list(const std::string& path) const override;
  [[nodiscard]] Result<Content> open(const std::string& path) const override;

 private:
  struct Table;
  struct RowText;
  static const std::vector<Table>& tables();
  [[nodiscard]] static const Table* table_of(std::string_view path);
  /// Which rows of the session a query is about.
  struct Wanted {
    std::string_view columns;
    std::string_view key;  // "" for all
    bool only_one = false;
  };
  template <class Value, class Convert>
  [[nodiscard]] Result<std::vector<Value>> select(const Table& table, const Wanted& wanted,
                                                  const Convert& convert) const;
  [[nodiscard]] Result<bool> has_row(const Table& table, std::string_view key) const;
  [[nodiscard]] Result<RowText> row_text(const std::string& path) const;
  const sqlite::Database& database_;
  const std::string session_;
};

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
    return rows->each_row([&](const Statement& row) {
      if (std::optional<Value> value = convert(row)) {
        found.push_back(*std::move(value));
      }
    });
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

/// Coarser than the clock tick of any file system in use: a file that was read this soon after its mtime may change
/// unnoticed.
constexpr std::int64_t kRacyNanos = 50'000'000;

/// Messages of a session together with the session's row.
Stamp joined(const Stamp& head, const Stamp& content) {
  return {std::max(head.time_ns, content.time_ns), head.version * 31 + content.version};
}

Result<Stamps> stamps_in(const SqliteRows& rows, const std::string& session, Covers covers) {
  ASSIGN_OR_RETURN(const auto head, rows.head(session, false));
  if (covers == Covers::head) {
    return Stamps{head.stamp, {}};
  }
  ASSIGN_OR_RETURN(const auto content, rows.stamp_of_content(session));
  return Stamps{head.stamp, joined(head.stamp, content)};
}

class SqliteArchive final : public SessionArchive {
 public:
  SqliteArchive(std::string path, Disk& disk) : database_(std::move(path), tables_read(), disk) {}

  [[nodiscard]] Result<std::vector<std::string>> folders() const override {
    ASSIGN_OR_RETURN(const auto now, changes());
    const std::lock_guard lock(mutex_);
    if (now != probed_) {
      RETURN_IF_ERROR(read([](const SqliteRows&) -> Result<void> { return {}; }));
      probed_ = now;
    }
    return std::vector{name()};
  }

  [[nodiscard]] Result<std::vector<SessionHead>> heads(const std::string& folder, const Wants& wants) const override {
    RETURN_IF_ERROR(check(folder));
    return value_of<std::vector<SessionHead>>([&](const SqliteRows& rows) { return rows.heads(wants); });
  }

  [[nodiscard]] Result<SessionHead> head(const SessionName& session) const override {
    RETURN_IF_ERROR(check(session.folder));
    return value_of<SessionHead>([&](const SqliteRows& rows) { return rows.head(session.id, true); });
  }

  [[nodiscard]] Result<Stamps> stamps(const SessionName& session, Covers covers) const override {
    RETURN_IF_ERROR(check(session.folder));
    return value_of<Stamps>([&](const SqliteRows& rows) { return stamps_in(rows, session.id, covers); });
  }

  [[nodiscard]] Result<std::map<std::string, Stamps>> whole_stamps(const std::string& folder,
                                                                   const std::vector<std::string>& ids) const override {
    RETURN_IF_ERROR(check(folder));
    std::map<std::string, Stamps> found;
    if (ids.empty()) {
      return found;
    }
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      for (const std::string& id : ids) {
        auto now = stamps_in(rows, id, Covers::whole);
        if (!now && now.error().code != Errc::not_found) {
          return now.error();
        }
        if (now) {
          found[id] = *now;
        }
      }
      return {};
    }));
    return found;
  }

  [[nodiscard]] Result<WholeSession> whole(const SessionName& session) const override {
    RETURN_IF_ERROR(check(session.folder));
    WholeSession found;
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      found = {};
      ASSIGN_OR_RETURN(auto head, rows.head(session.id, true));
      ASSIGN_OR_RETURN(const auto content, rows.stamp_of_content(session.id));
      ASSIGN_OR_RETURN(auto ids, rows.message_ids(session.id));
      ASSIGN_OR_RETURN(const auto others, rows.rows_not_shown(session.id));
      if (!others.empty()) {
        ids.emplace_back();
      }
      found.stamps = {head.stamp, joined(head.stamp, content)};
      found.metadata = std::move(head.metadata);
      return rows.read(session.id, ids, [&](std::string_view id, const std::string& text) {
        add_piece(found, id, text);
        return true;
      });
    }));
    return found;
  }

  Result<void> read(const SessionName& session, std::span<const Piece> pieces, const Take& take) const override {
    std::vector<std::string> texts;
    RETURN_IF_ERROR(check(session.folder));
    // A read may turn out to be unreliable, so its result is handed over only afterwards.
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      texts.clear();
      std::size_t bytes = 0;
      std::vector<std::string> ids;
      for (const Piece& piece : pieces) {
        ids.push_back(piece.id);
        if (piece.end - pieces.front().end > kAtOnce) {
          break;
        }
      }
      return rows.read(session.id, ids, [&](std::string_view, std::string&& text) {
        bytes += text.size();
        texts.push_back(std::move(text));
        return bytes < kAtOnce;
      });
    }));
    for (std::string& text : texts) {
      if (!take(std::move(text))) {
        break;
      }
    }
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> files(const SessionName& session) const override {
    RETURN_IF_ERROR(check(session.folder));
    return std::unique_ptr<const ShownFiles>(std::make_unique<const RowFiles>(database_, session.id));
  }

  /// Checks all sessions at once, and again only after a change.
  [[nodiscard]] bool is_answering(const SessionName& session) const override {
    const auto now = changes();
    const std::lock_guard lock(answers_mutex_);
    if (now && *now != answers_at_) {
      answers_.clear();
      const auto done = read([&](const SqliteRows& rows) -> Result<void> {
        ASSIGN_OR_RETURN(answers_, rows.unfinished_answers());
        return {};
      });
      answers_at_ = done ? *now : 0;
    }
    const auto found = answers_.find(session.id);
    return found != answers_.end() && found->second > now_ms() - kAnswerAbandonedMs;
  }

  [[nodiscard]] std::vector<Finding> faults_of(const SessionName& session) const override {
    return faults_of_rows(database_, session.id);
  }
  [[nodiscard]] std::vector<FileFinding> faults() const override {
    auto found = faults_of_database(database_);
    auto left = leftovers_in((place().parent_path() / "storage").string());
    std::move(left.begin(), left.end(), std::back_inserter(found));
    return found;
  }

  [[nodiscard]] Result<std::uint64_t> changes() const override {
    ASSIGN_OR_RETURN(const auto state, database_.state());
    const bool is_racy = now_ns() - state.mtime_ns() < kRacyNanos;
    const std::lock_guard lock(state_mutex_);
    if (!(state == state_) || was_racy_) {
      state_ = state;
      was_racy_ = is_racy;
      ++changes_;
    }
    return changes_;
  }

  [[nodiscard]] std::vector<WatchedDir> watched(const std::vector<SessionName>& /*hot*/) const override {
    std::string folder = place().parent_path().string();
    return Dir::open_root(folder) ? std::vector{WatchedDir{std::move(folder), name(), false}}
                                  : std::vector<WatchedDir>();
  }
  /// A change to the database may concern any session, so the place belongs to none.
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override {
    return file == name() || file == name() + "-wal" ? std::optional(LogPlace{folder, file}) : std::nullopt;
  }
  [[nodiscard]] std::string path_of(const SessionName& /*session*/) const override { return database_.path(); }
  [[nodiscard]] Result<Dir> dir_of(const std::string& folder) const override {
    RETURN_IF_ERROR(check(folder));
    return Dir::open_root(place().parent_path());
  }

 private:
  /// How much is read from the database at a time, unless one message is longer.
  static constexpr std::size_t kAtOnce = std::size_t{256} << 10U;

  /// What `reading` returns in the end; it may be called several times.
  template <class Value, class Reading>
  Result<Value> value_of(const Reading& reading) const {
    Value found;
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      ASSIGN_OR_RETURN(found, reading(rows));
      return {};
    }));
    return found;
  }
  template <class Reading>
  Result<void> read(const Reading& reading) const {
    return database_.read([&](const sqlite::Connection& connection) -> Result<void> {
      ASSIGN_OR_RETURN(const auto rows, SqliteRows::of(connection));
      return reading(rows);
    });
  }
  [[nodiscard]] std::filesystem::path place() const { return database_.path(); }
  [[nodiscard]] std::string name() const { return place().filename().string(); }
  [[nodiscard]] Result<void> check(const std::string& folder) const {
    return folder == name() ? Result<void>() : Result<void>(Errc::not_found, "no sessions folder");
  }

  const sqlite::Database database_;
  mutable std::mutex mutex_;
  mutable std::uint64_t probed_ = 0;  // changes() when the tables were last looked at; guarded by mutex_
  mutable std::mutex answers_mutex_;
  mutable std::map<std::string, std::int64_t> answers_;  // SqliteRows::unfinished_answers; guarded by answers_mutex_
  mutable std::uint64_t answers_at_ = 0;                 // changes() then; 0: not known. Guarded by answers_mutex_
  mutable std::mutex state_mutex_;
  mutable sqlite::DatabaseState state_;  // these are guarded by state_mutex_
  mutable bool was_racy_ = true;
  mutable std::uint64_t changes_ = 0;
};

}  // namespace

std::unique_ptr<SessionArchive> make_sqlite_archive(std::string path, Disk& disk) {
  return std::make_unique<SqliteArchive>(std::move(path), disk);
}

}  // namespace arborfs::opencode
