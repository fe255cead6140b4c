// A database that only arborfs writes, and that may be lost: several processes read it while one writes, and a crash
// leaves it whole, without the last changes. A page that is not as it was written gives an error when it is read. Used
// by one thread at a time.
#pragma once

#include <string>

#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

/// Opens a file that exists, which may be empty. Waits for no lock. Errors: as Connection::open.
Result<Connection> open_own_database(const std::string& path);

}  // namespace arborfs::sqlite
