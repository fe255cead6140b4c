// The sessions that OpenCode has copied from its JSON files to databases (opencode/FORMAT.md A2). Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/formats/opencode/session_archive.h"

namespace arborfs::opencode {

class MovedSessions {
 public:
  /// The databases at these paths. `disk` outlives the object.
  MovedSessions(const std::vector<std::string>& databases, Disk& disk);

  /// The ids of their sessions now. A database that cannot be read has none. Reads a database only after a change.
  [[nodiscard]] std::set<std::string> ids() const;

 private:
  /// A database and its ids when they were read.
  struct Known {
    std::unique_ptr<SessionArchive> archive;
    std::uint64_t changes = 0;  // SessionArchive::changes
    std::set<std::string> ids;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Known> databases_;  // guarded by mutex_
};

}  // namespace arborfs::opencode
