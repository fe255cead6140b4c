// Files that agents, or an arborfs that was killed, left beside logs and blobs. Only looks. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/doctor/finding.h"
#include "core/store/session_store.h"

namespace arborfs {

struct OrphanFile {
  enum class Kind : std::uint8_t { lock, temporary, backup, blob };
  LogPlace place;        // its own folder and name; no folder for a blob's
  std::string log_file;  // the log that it belongs to by its name; "" for a blob's
  Kind kind = Kind::temporary;
  Finding finding;
};

/// Where it lies.
std::string leftover_path(const OrphanFile& leftover, const StorePaths& paths);

/// Backups, temporary files and locks without an owner, in all folders of a store. What may still be in use is left
/// out: locks of running processes, files younger than a few seconds.
std::vector<OrphanFile> find_leftovers(const SessionStore& store);

}  // namespace arborfs
