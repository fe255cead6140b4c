#include "core/formats/opencode/sqlite_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/opencode/session_archive.h"
#include "core/json/document.h"

namespace arborfs::opencode {
namespace {

/// The JSON form of a column's value.
enum class As : std::uint8_t { text, json, number };

struct Member {
  const char* column;
  const char* key;
  As as;
};

/// A group of columns that becomes an object, or those of the object itself if `key` is null.
struct Group {
  const char* key;
  std::vector<Member> members;
  bool is_of_next = false;  // its object is a member of the next group's
};

/// The columns of a session, in the order of the program's own export (opencode/FORMAT.md B3).
const std::vector<Group>& session_groups() {
  static const std::vector<Group> groups = {
      {nullptr,
       {{"id", "id", As::text},
        {"slug", "slug", As::text},
        {"version", "version", As::text},
        {"project_id", "projectID", As::text},
        {"workspace_id", "workspaceID", As::text},
        {"directory", "directory", As::text},
        {"path", "path", As::text},
        {"parent_id", "parentID", As::text},
        {"title", "title", As::text},
        {"agent", "agent", As::text},
        {"model", "model", As::json},
        {"cost", "cost", As::number},
        {"permission", "permission", As::json},
        {"metadata", "metadata", As::json},
        {"revert", "revert", As::json}}},
      {"cache", {{"tokens_cache_read", "read", As::number}, {"tokens_cache_write", "write", As::number}}, true},
      {"tokens",
       {{"tokens_input", "input", As::number},
        {"tokens_output", "output", As::number},
        {"tokens_reasoning", "reasoning", As::number}}},
      {"summary",
       {{"summary_additions", "additions", As::number},
        {"summary_deletions", "deletions", As::number},
        {"summary_files", "files", As::number}}},
      {"share", {{"share_url", "url", As::text}}},
      {"time",
       {{"time_created", "created", As::number},
        {"time_updated", "updated", As::number},
        {"time_compacting", "compacting", As::number},
        {"time_archived", "archived", As::number}}},
  };
  return groups;
}

const std::vector<Member>& project_members() {
  static const std::vector<Member> members = {
      {"id", "id", As::text},     {"worktree", "worktree", As::text},   {"vcs", "vcs", As::text},
      {"name", "name", As::text}, {"sandboxes", "sandboxes", As::json},
  };
  return members;
}

void add(json::Text& object, const Member& member, const sqlite::Statement& row, int column) {
  if (row.is_null(column)) {
    return;
  }
  switch (member.as) {
    case As::text:
      object.add(member.key, row.text(column));
      return;
    case As::json:
      return add_value(object, member.key, row.text(column));
    case As::number:
      object.add_json(member.key, json::number_text(row.real(column)));
  }
}

/// `{"info":…,"project":…,"todo":…,"diff":…}` from a row of sessions_query().
std::string metadata_of(const sqlite::Statement& row, int column, const std::string& todos) {
  json::Text info = json::Text::object();
  std::string before;  // the object that is a member of the next one
  const char* before_key = nullptr;
  for (const Group& group : session_groups()) {
    json::Text inner = json::Text::object();
    for (const Member& member : group.members) {
      add(group.key == nullptr ? info : inner, member, row, column++);
    }
    if (!before.empty()) {
      inner.add_json(before_key, std::exchange(before, ""));
    }
    if (group.key == nullptr || inner.is_empty()) {
      continue;
    }
    std::string object = inner.str();
    if (group.is_of_next) {
      before = std::move(object);
      before_key = group.key;
    } else {
      info.add_json(group.key, object);
    }
  }
  json::Text project = json::Text::object();
  for (const Member& member : project_members()) {
    add(project, member, row, column++);
  }
  json::Text whole = json::Text::object();
  whole.add_json("info", info.str());
  if (!project.is_empty()) {
    whole.add_json("project", project.str());
  }
  if (!todos.empty()) {
    whole.add_json("todo", "[" + todos + "]");
  }
  if (!row.is_null(column)) {
    add_value(whole, "diff", row.text(column));
  }
  return whole.str();
}

/// The columns before those of the metadata.
enum Leading : int { kId, kTime, kSequence, kMetadata };

SessionHead head_of(const sqlite::Statement& row) {
  SessionHead head;
  head.id = row.text(kId);
  head.stamp.time_ns = nanos_of_millis(row.integer(kTime));
  std::string all(row.text(kSequence));
  int column = kMetadata;
  for (const Group& group : session_groups()) {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      all.append(1, '\0').append(row.text(column++));
    }
  }
  head.stamp.version = xxh64(all);
  return head;
}

constexpr std::array kTables{"session",        "message",         "part",         "project", "todo",
                             "event_sequence", "session_message", "session_input"};

Error no_such_session() {
  return {Errc::not_found, "there is no such session in the database"};
}

}  // namespace

std::vector<std::string> tables_read() {
  return {kTables.begin(), kTables.end()};
}

Result<SqliteRows> SqliteRows::of(const sqlite::Connection& connection) {
  SqliteRows rows(connection);
  for (const char* table : kTables) {
    ASSIGN_OR_RETURN(rows.columns_[table], connection.columns_of(table));
  }
  const auto lacks = [&](const char* table, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* n) { return !rows.columns_[table].contains(n); });
  };
  if (lacks("session", {"id"}) || lacks("message", {"id", "session_id", "time_created", "data"}) ||
      lacks("part", {"id", "message_id", "data"})) {
    return Error{Errc::unsupported,
                 "the database does not have the tables of a version of OpenCode that arborfs knows"};
  }
  return rows;
}

/// The column's value, or null where this version of the database has no such column.
std::string SqliteRows::column(const std::string& table, const std::string& name) const {
  return columns_.at(table).contains(name) ? table + "." + name : "NULL";
}

std::string SqliteRows::sessions_query(std::string_view where) const {
  const bool has_sequence = columns_.at("event_sequence").contains("seq");
  std::string sql = "SELECT session.id, " + column("session", "time_updated") + ", " +
                    (has_sequence ? column("event_sequence", "seq") : "NULL");
  for (const Group& group : session_groups()) {
    for (const Member& member : group.members) {
      sql += ", " + column("session", member.column);
    }
  }
  for (const Member& member : project_members()) {
    sql += ", " + column("project", member.column);
  }
  sql += ", " + column("session", "summary_diffs") + " FROM session";
  if (has("project") && columns_.at("session").contains("project_id")) {
    sql += " LEFT JOIN project ON project.id = session.project_id";
  } else if (has("project")) {
    sql += " LEFT JOIN project ON 0";
  }
  if (has_sequence) {
    sql += " LEFT JOIN event_sequence ON event_sequence.aggregate_id = session.id";
  }
  return sql + std::string(where);
}

/// The todos by session, as the items of a JSON array; of all sessions if `of` is "".
Result<std::map<std::string, std::string>> SqliteRows::todos(const std::string& of) const {
  std::map<std::string, std::string> found;
  if (!columns_.at("todo").contains("session_id")) {
    return found;
  }
  ASSIGN_OR_RETURN(auto rows,
                   connection_->query("SELECT session_id, " + column("todo", "content") + ", " +
                                          column("todo", "status") + ", " + column("todo", "priority") +
                                          " FROM todo WHERE ?1 = '' OR session_id = ?1 ORDER BY session_id, " +
                                          column("todo", "position"),
                                      of));
  RETURN_IF_ERROR(rows.each_row([&](const sqlite::Statement& row) {
    json::Text todo = json::Text::object();
    todo.add("content", row.text(1));
    todo.add("status", row.text(2));
    todo.add("priority", row.text(3));
    std::string& list = found[std::string(row.text(0))];
    list.append(list.empty() ? "" : ",").append(todo.str());
  }));
  return found;
}

Result<std::vector<SessionHead>> SqliteRows::heads(const SessionArchive::Wants& wants) const {
  std::vector<SessionHead> heads;
  std::map<std::string, std::string> lists;
  bool has_lists = false;
  ASSIGN_OR_RETURN(auto rows, connection_->prepare(sessions_query(" ORDER BY session.id")));
  RETURN_IF_ERROR(rows.each_row([&](const sqlite::Statement& row) -> Result<void> {
    SessionHead head = head_of(row);
    if (wants && wants(head.id)) {
      if (!has_lists) {
        ASSIGN_OR_RETURN(lists, todos(""));
        has_lists = true;
      }
      head.metadata = metadata_of(row, kMetadata, lists[head.id]);
    }
    heads.push_back(std::move(head));
    return {};
  }));
  return heads;
}

Result<SessionHead> SqliteRows::head(const std::string& id, bool wants_metadata) const {
  ASSIGN_OR_RETURN(auto rows, connection_->query(sessions_query(" WHERE session.id = ?1"), id));
  ASSIGN_OR_RETURN(const bool has_row, rows.step());
  if (!has_row) {
    return no_such_session();
  }
  SessionHead head = head_of(rows);
  if (wants_metadata) {
    ASSIGN_OR_RETURN(auto lists, todos(id));
    head.metadata = metadata_of(rows, kMetadata, lists[id]);
  }
  return head;
}

Result<Stamp> SqliteRows::stamp_of_content(const std::string& id) const {
  Stamp stamp;
  std::string all;
  for (const char* table : {"message", "part", "todo", "session_message", "session_input"}) {
    if (!columns_.at(table).contains("session_id")) {
      continue;
    }
    const std::string time = column(table, "time_updated");
    ASSIGN_OR_RETURN(auto rows, connection_->query("SELECT count(*), max(" + time + "), sum(" + time +
                                                       " % 1000003) FROM " + table + " WHERE session_id = ?1",
                                                   id));
    RETURN_IF_ERROR(rows.step());
    stamp.time_ns = std::max(stamp.time_ns, nanos_of_millis(rows.integer(1)));
    for (int column = 0; column < 3; ++column) {
      all.append(1, '\0').append(rows.text(column));
    }
  }
  stamp.version = xxh64(all);
  return stamp;
}

Result<std::vector<std::string>> SqliteRows::message_ids(const std::string& session) const {
  std::vector<std::string> ids;
  ASSIGN_OR_RETURN(
      auto rows, connection_->query("SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id", session));
  RETURN_IF_ERROR(rows.each_row([&](const sqlite::Statement& row) { ids.emplace_back(row.text(0)); }));
  return ids;
}

Result<std::string> SqliteRows::rows_not_shown(const std::string& session) const {
  std::string lines;
  const auto add = [&](const char* table, const std::string& type, const char* where) -> Result<void> {
    if (!columns_.at(table).contains("session_id")) {
      return {};
    }
    ASSIGN_OR_RETURN(auto rows, connection_->query("SELECT " + type + ", count(*) FROM " + table +
                                                       " WHERE session_id = ?1 AND " + where + " GROUP BY 1 ORDER BY 1",
                                                   session));
    return rows.each_row([&](const sqlite::Statement& row) {
      json::Text line = json::Text::object();
      line.add("table", table);
      line.add("type", row.text(0));
      line.add_json("rows", json::number_text(row.real(1)));
      lines += line.str() + "\n";
    });
  };
  RETURN_IF_ERROR(add("session_message", column("session_message", "type"), "id NOT IN (SELECT id FROM message)"));
  RETURN_IF_ERROR(add("session_input", "''",
                      columns_.at("session_input").contains("promoted_seq") ? "promoted_seq IS NULL" : "true"));
  return lines;
}

Result<std::map<std::string, std::int64_t>> SqliteRows::unfinished_answers() const {
  std::map<std::string, std::int64_t> found;
  const std::string part_written =
      columns_.at("part").contains("time_updated")
          ? "(SELECT coalesce(max(time_updated), 0) FROM part WHERE message_id = message.id)"
          : "0";
  ASSIGN_OR_RETURN(
      auto rows, connection_->prepare(
                     "SELECT session.id, max(coalesce(" + column("message", "time_updated") + ", 0), " + part_written +
                     ") FROM session JOIN message ON message.id = (SELECT id FROM message AS answer WHERE "
                     "session_id = session.id AND CASE WHEN json_valid(data) THEN json_extract(data, '$.role') = "
                     "'assistant' END ORDER BY time_created DESC, id DESC LIMIT 1) WHERE "
                     "json_extract(message.data, '$.time.completed') IS NULL AND json_extract(message.data, "
                     "'$.error') IS NULL"));
  RETURN_IF_ERROR(
      rows.each_row([&](const sqlite::Statement& row) { found[std::string(row.text(0))] = row.integer(1); }));
  return found;
}

Result<void> SqliteRows::read(const std::string& session, const std::vector<std::string>& ids, const Take& take) const {
  ASSIGN_OR_RETURN(auto messages, connection_->prepare("SELECT data FROM message WHERE id = ?1 AND session_id = ?2"));
  ASSIGN_OR_RETURN(auto parts, connection_->prepare("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id"));
  const auto id_of = [](std::string_view key, std::string_view id) {
    std::string member = "\"" + std::string(key) + "\":";
    json::stringify_string(id, member);
    return member;
  };
  const std::string in_session = "," + id_of("sessionID", session);
  for (const std::string& id : ids) {
    if (id.empty()) {
      ASSIGN_OR_RETURN(auto lines, rows_not_shown(session));
      if (!take(id, std::move(lines))) {
        return {};
      }
      continue;
    }
    messages.bind(1, id);
    messages.bind(2, session);
    ASSIGN_OR_RETURN(const bool has_message, messages.step());
    if (!has_message) {
      return Error{Errc::stale, "a message was removed while the session was read; try again"};
    }
    EntryText entry;
    entry.set_info(messages.text(0), id_of("id", id) + in_session);
    messages.reset();
    parts.bind(1, id);
    RETURN_IF_ERROR(parts.each_row([&](const sqlite::Statement& part) {
      entry.add_part(part.text(1), id_of("id", part.text(0)) + in_session + "," + id_of("messageID", id));
    }));
    if (!take(id, std::move(entry).take())) {
      return {};
    }
  }
  return {};
}

}  // namespace arborfs::opencode
