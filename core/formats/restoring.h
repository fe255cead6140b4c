// How sessions of each agent go back from the trash, for the rows of registry.cc. The caller has checked that the store
// named in `trashed` is open and that it may have the place (store_of_trashed). Any thread.
#pragma once

#include <string>

#include "core/store/session_store.h"
#include "core/writer/trash.h"

namespace arborfs {

// True if a session of the store may have this place, whose names are those of a note in the trash.
/// For omp, pi and Opal.
bool has_log_name(const SessionStore& store, const LogPlace& place);
bool has_place_of_opencode(const SessionStore& store, const LogPlace& place);
bool has_place_of_goat(const SessionStore& store, const LogPlace& place);

// Errors: those of the formats' trashes.
/// Of pi too.
Result<void> restore_omp(const std::string& trash, const Trashed& trashed, Disk& disk);
Result<void> restore_opal(const std::string& trash, const Trashed& trashed, Disk& disk);
Result<void> restore_opencode(const std::string& trash, const Trashed& trashed, Disk& disk);
Result<void> restore_goat(const std::string& trash, const Trashed& trashed, Disk& disk);
/// Moves what a killed removal left in the store to the trash.
Result<void> finish_removal_of_opencode(const std::string& trash, const Trashed& trashed, Disk& disk);

}  // namespace arborfs
