// SQLite's access to files for a connection that only looks: no file is created, truncated or removed, and a -wal is
// opened for reading only. SQLite by itself would create a -wal that is missing, even for a read-only connection. It
// waits a tenth of a second in all, instead of ten, before it gives up a -wal that it cannot make sense of.
// Internal to core/sqlite.
#pragma once

namespace arborfs::sqlite {

/// Its name for sqlite3_open_v2; registered by the first call. Any thread.
const char* looking_vfs();

}  // namespace arborfs::sqlite
