#include "core/store/store_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>

namespace arborfs {

Result<void> check_owner(const StorePaths& paths, bool named, Access access) {
  for (const std::string& path : {paths.sessions, paths.agent_dir}) {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) {
      continue;
    }
    if (st.st_uid == ::geteuid() || (named && access == Access::look)) {
      return {};
    }
    const std::string whose = path + " belongs to another user (uid " + std::to_string(st.st_uid) + ")";
    return Error{Errc::permission, named ? whose + ": you can read it (mount it with -o ro) but not write to it"
                                         : whose + ": run arborfs as that user, or read it with --store"};
  }
  return {};
}

}  // namespace arborfs
