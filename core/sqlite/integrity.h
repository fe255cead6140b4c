// The faults that SQLite itself finds in a database. Reads all of it, and may take long. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/sqlite/database.h"

namespace arborfs::sqlite {

struct IntegrityFault {
  std::string_view kind;  // "corrupt_database", "dangling_row" or "unreadable"
  std::string text;       // in words
};

/// At most kMostIntegrityFaults; references between rows are examined only if the structure is whole. Also empty if
/// there is no database.
std::vector<IntegrityFault> integrity_faults(const Database& database);
inline constexpr std::size_t kMostIntegrityFaults = 100;

}  // namespace arborfs::sqlite
