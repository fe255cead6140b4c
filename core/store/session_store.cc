#include "core/store/session_store.h"

#include <sys/stat.h>

namespace arborfs {

Result<FileStat> stat_log(const Dir& folder, const std::string& file) {
  auto st = folder.stat(file);
  if (st && !S_ISREG(st->mode)) {
    return Error{Errc::corrupt, "not a regular file"};
  }
  return st;
}

}  // namespace arborfs
