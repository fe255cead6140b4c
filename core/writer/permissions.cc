#include "core/writer/permissions.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace arborfs {

mode_t permissions_of(const Session& session) {
  namespace fs = std::filesystem;
  const SessionStore& store = session.store();
  const fs::path agent_dir = store.paths().agent_dir;
  const auto file = store.stat(session.place());
  mode_t found = file ? file->mode & kAnyPermissions : 0;
  fs::path folder = fs::path(store.path_of(session.place())).parent_path();
  for (bool is_last = false; !is_last && folder != folder.parent_path(); folder = folder.parent_path()) {
    is_last = folder == agent_dir;
    const auto st = Dir::stat_root(folder.string());
    found &= st && (st->mode & S_IXGRP) != 0 ? kAnyPermissions : ~static_cast<mode_t>(S_IRWXG);
    found &= st && (st->mode & S_IXOTH) != 0 ? kAnyPermissions : ~static_cast<mode_t>(S_IRWXO);
  }
  return found | S_IRWXU;
}

}  // namespace arborfs
