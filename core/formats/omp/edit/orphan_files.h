// Finds files that agents, or a killed arborfs, left next to logs and blobs. Changes nothing. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/store/finding.h"
#include "core/store/store_set.h"

namespace arborfs::omp {

struct OrphanFile {
  enum class Kind : std::uint8_t { lock, temporary, backup, blob };
  LogPlace place;        // its own folder and name; no folder for a blob's
  std::string log_file;  // the log that it belongs to by its name; "" for a blob's
  Kind kind = Kind::temporary;
  Finding finding;
};

/// The path of the file.
std::string leftover_path(const OrphanFile& leftover, const StorePaths& paths);

/// Finds backups, temporary files and locks without an owner in all folders of a store. Leaves out files that may still
/// be in use: locks of running processes, files younger than a few seconds.
std::vector<OrphanFile> find_leftovers(const arborfs::Store& store);
/// The same in all stores.
std::vector<OrphanFile> find_leftovers(const StoreSet& stores);

}  // namespace arborfs::omp
