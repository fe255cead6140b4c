#include "core/sqlite/set_up.h"

#include <sqlite3.h>

#include "core/sqlite/system_calls.h"

namespace arborfs::sqlite {

/// Without its statistics, SQLite's allocations share no lock. A thread that runs only when the machine is idle could
/// be preempted while it holds that lock, and every other use of SQLite would wait for it.
void set_up() {
  static const bool is_done = [] {
    // An error means that SQLite is in use already; it works with its statistics too.
    static_cast<void>(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0));
    replace_system_calls();
    return true;
  }();
  static_cast<void>(is_done);
}

}  // namespace arborfs::sqlite
