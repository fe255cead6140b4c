#include "core/sqlite/set_up.h"

#include <sqlite3.h>

namespace arborfs::sqlite {

/// Without its statistics, SQLite's allocations share no lock. A thread that runs only when the machine is idle could
/// be preempted while it holds that lock, and every other use of SQLite would wait for it.
void set_up() {
  static const int configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(configured);  // an error means that SQLite is in use already; it works with them too
}

}  // namespace arborfs::sqlite
