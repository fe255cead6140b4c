// The system calls of SQLite that arborfs replaces, for all connections of this process. Internal to core/sqlite.
#pragma once

namespace arborfs::sqlite {

/// Memory that is shared through a file and written is mapped only if the file has space behind it. SQLite writes a
/// byte for each 4 KiB of a -shm, which leaves holes where blocks are smaller, and adds nothing to a file that another
/// program made; a write to a page without space would end the process (SIGBUS). Such a file gives SQLITE_IOERR_SHMMAP,
/// with ENOSPC or EDQUOT as the system's error. A copy-on-write file system may still refuse a later write.
///
/// No file is given another owner: for root, SQLite gives each -wal and -shm that it opens the owner of the database.
/// That changes their ctime and wakes whatever watches them. arborfs writes only to databases of its own user, whose
/// new files have the right owner.
///
/// Initializes SQLite. Once, before the first connection.
void replace_system_calls();

}  // namespace arborfs::sqlite
