// Files that agents left beside their logs, in all folders of a store. Only looks. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/doctor/finding.h"
#include "core/store/session_store.h"

namespace arborfs {

struct Leftover {
  enum class Kind : std::uint8_t { lock, temporary, backup };
  LogPlace place;        // its own folder and name
  std::string log_file;  // the log that it belongs to by its name
  Kind kind = Kind::temporary;
  Finding finding;
};

/// Backups, temporary files and locks without an owner. What may still be in use is left out: locks of running
/// processes, files younger than a few seconds.
std::vector<Leftover> find_leftovers(const SessionStore& store);

}  // namespace arborfs
