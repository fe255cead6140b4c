#include "core/formats/opencode/moved_sessions.h"

#include <utility>

#include "core/formats/opencode/sqlite_archive.h"

namespace arborfs::opencode {

MovedSessions::MovedSessions(const std::vector<std::string>& databases, Disk& disk) {
  for (const std::string& path : databases) {
    databases_.push_back({make_sqlite_archive(path, disk), 0, {}});
  }
}

std::set<std::string> MovedSessions::ids() const {
  std::set<std::string> all;
  const std::lock_guard lock(mutex_);
  for (Known& known : databases_) {
    const auto changes = known.archive->changes();
    if (!changes || *changes != known.changes) {
      known.ids.clear();
      const auto folders = known.archive->folders();
      auto heads =
          folders ? known.archive->heads(folders->front(), {}) : Result<std::vector<SessionHead>>(folders.error());
      for (SessionHead& head : heads ? *heads : std::vector<SessionHead>()) {
        known.ids.insert(std::move(head.id));
      }
      known.changes = changes && heads ? *changes : 0;
    }
    all.insert(known.ids.begin(), known.ids.end());
  }
  return all;
}

}  // namespace arborfs::opencode
