#include "core/formats/codex/thread_facts.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/codex/record.h"
#include "core/formats/codex/thread_table.h"
#include "core/json/json_cursor.h"
#include "core/log/line_reader.h"
#include "core/log/log_file.h"

namespace arborfs::codex {
namespace {

constexpr std::uint64_t kMostRead = std::uint64_t{16} << 20U;
constexpr std::size_t kLongestName = 4096;

constexpr std::string_view kDatabase = "state_";
constexpr std::string_view kDatabaseEnding = ".sqlite";
constexpr std::size_t kMostThreads = 1'000'000;

/// The N of state_<N>.sqlite.
std::optional<std::uint64_t> version_of(std::string_view file) {
  if (!file.starts_with(kDatabase) || !file.ends_with(kDatabaseEnding)) {
    return std::nullopt;
  }
  file.remove_prefix(kDatabase.size());
  file.remove_suffix(std::min(kDatabaseEnding.size(), file.size()));
  return count_of(file);
}

std::vector<std::string> tables_read() {
  return {"threads", "thread_spawn_edges"};
}

/// Calls `take` with each row.
template <class Take>
Result<void> each_row(const sqlite::Connection& connection, std::string_view sql, const Take& take) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare(sql));
  for (std::size_t count = 0; count < kMostThreads; ++count) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      break;
    }
    take(rows);
  }
  return {};
}

/// The segment in a file with this path. The path has the name of the plain file, even of a compressed one.
std::string segment_in(std::string_view path) {
  const auto name = parse_rollout_name(path.substr(path.rfind('/') + 1));
  return name ? name->segment : "";
}

/// An older database has fewer columns.
Result<void> read_own_rows(const sqlite::Connection& connection, ThreadRows::ByThread& rows) {
  ASSIGN_OR_RETURN(const auto columns, connection.columns_of("threads"));
  const auto column = [&](const char* name) { return columns.contains(name) ? name : "NULL"; };
  if (!columns.contains("id")) {
    return {};
  }
  const std::string sql = std::string("SELECT id, ") + column("name") + ", " + column("history_mode") + ", " +
                          column("rollout_path") + ", " + column("thread_section_id") + " FROM threads";
  return each_row(connection, sql, [&](const sqlite::Statement& row) {
    ThreadRow& thread = rows[std::string(row.text(0))];
    thread.is_known = true;
    thread.name = row.text(1).empty() ? std::nullopt : std::optional(std::string(row.text(1)));
    thread.is_paginated = row.text(2) == "paginated";
    thread.segment = segment_in(row.text(3));
    thread.is_pinned = row.text(4) == kPinnedSection;
  });
}

/// An older database has no sub-agents.
Result<void> read_rows(const sqlite::Connection& connection, ThreadRows::ByThread& rows) {
  RETURN_IF_ERROR(read_own_rows(connection, rows));
  ASSIGN_OR_RETURN(const auto edges, connection.columns_of("thread_spawn_edges"));
  if (!edges.contains("parent_thread_id")) {
    return {};
  }
  return each_row(connection, "SELECT child_thread_id, parent_thread_id FROM thread_spawn_edges",
                  [&](const sqlite::Statement& row) { rows[std::string(row.text(0))].parent = row.text(1); });
}

}  // namespace

/// If a thread has several lines, the last one counts. At most kMostRead bytes are read.
std::shared_ptr<const ThreadNames::Names> ThreadNames::current() const {
  const auto home = Dir::open_root(home_);
  const auto st = home ? home->stat(std::string(kFile)) : Result<FileStat>(home.error());
  const std::lock_guard lock(mutex_);
  if (!st || *st == read_at_) {
    names_ = st ? names_ : std::make_shared<Names>();
    read_at_ = st ? read_at_ : FileStat();
    return names_;
  }
  auto names = std::make_shared<Names>();
  const auto log = LogFile::open(*home, std::string(kFile));
  if (!log) {
    return names_;
  }
  LineReader lines(**log, std::min(kMostRead, st->size), {});
  for (auto line = lines.next(); line && *line != nullptr; line = lines.next()) {
    const std::string_view text = (*line)->text;
    auto id = is_object(text) ? skim::string_value(skim::member(text, "id")) : std::nullopt;
    auto name = id ? skim::string_value(skim::member(text, "thread_name")) : std::nullopt;
    if (name && name->size() <= kLongestName) {
      (*names)[*std::move(id)] = *std::move(name);
    }
  }
  names_ = std::move(names);
  read_at_ = (*log)->opened();
  return names_;
}

DatabaseFile newest_database(const std::string& home) {
  const auto dir = Dir::open_root(home);
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  DatabaseFile newest;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto found = version_of(entry.name);
    if (found && (newest.name.empty() || *found > newest.version)) {
      newest = {entry.name, *found};
    }
  }
  return newest;
}

void ThreadDatabase::forget_look() const {
  const std::lock_guard lock(mutex_);
  looked_at_.reset();
}

ThreadRows ThreadDatabase::current() const {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!looked_at_ || now - *looked_at_ > kRemembered) {
    refresh();
    looked_at_ = std::chrono::steady_clock::now();
  }
  return rows_;
}

std::vector<FileFinding> ThreadDatabase::faults() const {
  std::vector<FileFinding> found;
  const std::string file = newest_database(home_).name;
  if (file.empty()) {
    return found;
  }
  const sqlite::Database database(home_ + "/" + file, tables_read(), disk_);
  for (sqlite::IntegrityFault& fault : sqlite::integrity_faults(database)) {
    found.push_back({database.path(), {fault.kind, std::move(fault.text)}});
  }
  return found;
}

/// While the database cannot be read, the previous facts stay.
void ThreadDatabase::refresh() const {
  const std::string file = newest_database(home_).name;
  const std::string path = home_ + "/" + file;
  if (file.empty()) {
    database_.reset();
  } else if (!database_ || database_->path() != path) {
    database_ = std::make_unique<const sqlite::Database>(path, tables_read(), disk_);
    read_at_ = {};
  }
  const std::int64_t looked_ns = now_ns();
  const auto state = database_ ? database_->state() : Result<sqlite::DatabaseState>(Errc::not_found, "no database");
  if (!state) {
    return;
  }
  if (*state == read_at_) {
    rows_.looked_ns = looked_ns;
    return;
  }
  auto rows = std::make_shared<ThreadRows::ByThread>();
  const auto done = database_->read([&](const sqlite::Connection& connection) {
    rows->clear();
    return read_rows(connection, *rows);
  });
  if (done) {
    rows_ = {std::move(rows), looked_ns};
    read_at_ = *state;
  }
}

}  // namespace arborfs::codex
