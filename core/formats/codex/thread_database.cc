#include "core/formats/codex/thread_database.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/codex/record.h"
#include "core/os/file.h"
#include "core/sqlite/database.h"

namespace arborfs::codex {
namespace {

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

/// The name of the newest database; "" if there is none.
std::string newest_database(const std::string& home) {
  const auto dir = Dir::open_root(home);
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  std::string newest;
  std::uint64_t version = 0;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto found = version_of(entry.name);
    if (found && (newest.empty() || *found > version)) {
      newest = entry.name;
      version = *found;
    }
  }
  return newest;
}

/// Calls `take` with the two texts of each row.
template <class Take>
Result<void> each_row(const sqlite::Connection& connection, std::string_view sql, const Take& take) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare(sql));
  for (std::size_t count = 0; count < kMostThreads; ++count) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      break;
    }
    take(std::string(rows.text(0)), std::string(rows.text(1)));
  }
  return {};
}

/// An older database has no names or no sub-agents.
Result<void> read_threads(const sqlite::Connection& connection, ThreadDatabase::Threads& threads) {
  ASSIGN_OR_RETURN(const auto columns, connection.columns_of("threads"));
  if (columns.contains("name")) {
    RETURN_IF_ERROR(each_row(connection, "SELECT id, name FROM threads WHERE name IS NOT NULL AND name <> ''",
                             [&](std::string id, std::string name) { threads[std::move(id)].name = std::move(name); }));
  }
  ASSIGN_OR_RETURN(const auto edges, connection.columns_of("thread_spawn_edges"));
  if (edges.contains("parent_thread_id")) {
    RETURN_IF_ERROR(
        each_row(connection, "SELECT child_thread_id, parent_thread_id FROM thread_spawn_edges",
                 [&](std::string child, std::string parent) { threads[std::move(child)].parent = std::move(parent); }));
  }
  return {};
}

}  // namespace

std::shared_ptr<const ThreadDatabase::Threads> ThreadDatabase::current() const {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!threads_ || now - looked_at_ > kRemembered) {
    refresh();
    looked_at_ = std::chrono::steady_clock::now();
  }
  return threads_;
}

std::vector<FileFinding> ThreadDatabase::faults() const {
  std::vector<FileFinding> found;
  const std::string file = newest_database(home_);
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
  threads_ = threads_ ? threads_ : std::make_shared<const Threads>();
  const std::string file = newest_database(home_);
  const std::string path = home_ + "/" + file;
  if (file.empty()) {
    database_.reset();
  } else if (!database_ || database_->path() != path) {
    database_ = std::make_unique<const sqlite::Database>(path, tables_read(), disk_);
    read_at_ = {};
  }
  const auto state = database_ ? database_->state() : Result<sqlite::DatabaseState>(Errc::not_found, "no database");
  if (!state || *state == read_at_) {
    return;
  }
  auto threads = std::make_shared<Threads>();
  const auto done = database_->read([&](const sqlite::Connection& connection) {
    threads->clear();
    return read_threads(connection, *threads);
  });
  if (done) {
    threads_ = std::move(threads);
    read_at_ = *state;
  }
}

}  // namespace arborfs::codex
