// Settings of SQLite itself, for all connections of this process. Internal to core/sqlite.
#pragma once

namespace arborfs::sqlite {

/// Comes before every other call of SQLite. Any thread.
void set_up();

}  // namespace arborfs::sqlite
