#include "core/sqlite/integrity.h"

#include <utility>

#include "core/base/result_macros.h"

namespace arborfs::sqlite {
namespace {

/// Calls `take` with each row of a pragma, up to kMostIntegrityFaults.
template <class Take>
Result<void> each_fault(const Connection& connection, std::string_view pragma, const Take& take) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare(pragma));
  for (std::size_t count = 0; count < kMostIntegrityFaults; ++count) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      break;
    }
    take(rows);
  }
  return {};
}

Result<void> find_faults(const Connection& connection, std::vector<IntegrityFault>& found) {
  RETURN_IF_ERROR(each_fault(connection, "PRAGMA quick_check(100)", [&](const Statement& row) {
    if (row.text(0) != "ok") {
      found.push_back({"corrupt_database", "SQLite finds the database damaged: " + std::string(row.text(0))});
    }
  }));
  if (!found.empty()) {
    return {};
  }
  // The columns: table, row, table referred to, number of the key.
  return each_fault(connection, "PRAGMA foreign_key_check", [&](const Statement& row) {
    found.push_back({"dangling_row", "row " + std::string(row.text(1)) + " of the table " + std::string(row.text(0)) +
                                         " refers to a row of " + std::string(row.text(2)) + " that does not exist"});
  });
}

}  // namespace

std::vector<IntegrityFault> integrity_faults(const Database& database) {
  std::vector<IntegrityFault> found;
  const auto done = database.read([&](const Connection& connection) {
    found.clear();
    return find_faults(connection, found);
  });
  if (!done && done.error().code != Errc::not_found && found.empty()) {
    const bool is_corrupt = done.error().code == Errc::corrupt;
    found.push_back({is_corrupt ? "corrupt_database" : "unreadable", done.error().message});
  }
  return found;
}

}  // namespace arborfs::sqlite
