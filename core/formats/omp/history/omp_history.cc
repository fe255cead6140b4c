#include "core/formats/omp/history/omp_history.h"

#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/history/history_writes.h"
#include "core/sqlite/database.h"

namespace arborfs {

namespace {

using sqlite::Connection;
using Columns = std::set<std::string>;

/// Says which file an error is about.
Error about(const std::string& path, const Error& error) {
  return {error.code, "the prompt history " + path + ": " + error.message};
}

/// True if the database has no tables but those that omp also makes without a prompt history (omp/FORMAT.md Q5).
Result<bool> has_no_history(const Connection& connection) {
  ASSIGN_OR_RETURN(auto rows,
                   connection.prepare("SELECT count(*) FROM sqlite_master WHERE type='table' AND name NOT "
                                      "LIKE 'sqlite_%' AND name NOT IN ('session_titles','session_recaps')"));
  RETURN_IF_ERROR(rows.step());
  return rows.integer(0) == 0;
}

/// Absent columns are null: omp 13 has no session_id (omp/FORMAT.md Q1).
std::string query_for(const Columns& columns) {
  std::string query = "SELECT created_at, prompt";
  for (const char* optional : {"cwd", "session_id"}) {
    query += columns.count(optional) != 0 ? ", " + std::string(optional) : ", NULL";
  }
  return query + " FROM history WHERE created_at BETWEEN ?1 AND ?2 ORDER BY created_at DESC, id DESC";
}

class OmpHistory final : public PromptHistory {
 public:
  OmpHistory(const std::string& path, Disk& disk) : database_(path, {"history"}, disk), disk_(disk) {}

  [[nodiscard]] Result<State> state() const override {
    const auto files = database_.state();
    if (!files) {
      return about(path(), files.error());
    }
    const auto& [database, wal] = *files;
    const std::array<std::uint64_t, 6> told{database.ino, database.size, static_cast<std::uint64_t>(database.mtime_ns),
                                            wal.ino,      wal.size,      static_cast<std::uint64_t>(wal.mtime_ns)};
    return State{files->mtime_ns(), xxh64({reinterpret_cast<const char*>(told.data()), sizeof told})};
  }

  Result<void> read(const Span& span, const Reading& reading) const override {
    const std::shared_lock open(omp_history_gate());
    const auto done = database_.read([&](const Connection& connection) -> Result<void> {
      reading.restart();
      return read_rows(connection, span, reading);
    });
    return done ? done : Result<void>(about(path(), done.error()));
  }

  Result<void> add(const Prompt& prompt, const Adding& how) override {
    const std::shared_lock open(omp_history_gate());
    const auto done = add_to_omp_history(path(), prompt, how, disk_);
    const bool is_about_text =
        !done && (done.error().code == Errc::invalid_argument || done.error().code == Errc::not_utf8);
    return done || is_about_text ? done : Result<void>(about(path(), done.error()));
  }

  [[nodiscard]] const std::string& path() const override { return database_.path(); }

 private:
  static Result<void> read_rows(const Connection& connection, const Span& span, const Reading& reading) {
    ASSIGN_OR_RETURN(const auto columns, connection.columns_of("history"));
    if (columns.empty()) {
      ASSIGN_OR_RETURN(const bool is_new, has_no_history(connection));
      return is_new ? Result<void>() : unknown_tables();
    }
    if (columns.count("id") + columns.count("prompt") + columns.count("created_at") != 3) {
      return unknown_tables();
    }
    ASSIGN_OR_RETURN(auto rows, connection.prepare(query_for(columns)));
    rows.bind(1, span.first_s);
    rows.bind(2, span.last_s);
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_row, rows.step());
      if (!has_row || !reading.take({rows.integer(0), std::string(rows.text(1)), std::string(rows.text(2)),
                                     std::string(rows.text(3))})) {
        return {};
      }
    }
  }

  static Error unknown_tables() {
    return {Errc::unsupported, "its tables are not those that this version of arborfs knows"};
  }

  const sqlite::Database database_;
  Disk& disk_;
};

}  // namespace

std::shared_mutex& omp_history_gate() {
  static std::shared_mutex gate;
  return gate;
}

std::unique_ptr<PromptHistory> make_omp_history(const std::string& sessions, Disk& disk) {
  const auto folder = std::filesystem::path(sessions).parent_path();
  return std::make_unique<OmpHistory>((folder / "history.db").string(), disk);
}

}  // namespace arborfs
