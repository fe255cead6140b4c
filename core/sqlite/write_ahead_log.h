// The -wal of a database, without SQLite. Internal to core/sqlite.
#pragma once

#include <string>

namespace arborfs::sqlite {

/// False if the -wal of the database at `path` surely holds no page, so that the database has everything: it is
/// missing, ends before its first page does, or has a header that SQLite ignores together with all that follows
/// (https://sqlite.org/fileformat2.html#walformat). A writer that is killed early leaves such a file. SQLite cannot
/// read beside one of 32 bytes, the header alone, if it may not write: it tries for ten seconds, and gives up.
bool may_hold_pages_in_wal(const std::string& path);

}  // namespace arborfs::sqlite
