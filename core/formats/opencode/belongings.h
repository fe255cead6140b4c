// What belongs to a session of OpenCode, with the sessions that were started from it, however deep, for
// core/write/transfer.h. One thread an object.
#pragma once

#include <memory>

#include "core/formats/opencode/storage_folder.h"
#include "core/sqlite/database.h"
#include "core/write/transfer.h"

namespace arborfs::opencode {

/// The files of a session in the folder `storage`, and the folders of its messages and parts (opencode/FORMAT.md F1).
/// The messages leave the storage last, and return first: they say which parts are in the storage. `storage`: locked
/// by the caller, and outlives it; null: it is locked when it is first used. `store` outlives it.
std::unique_ptr<Belongings> belongings_in_files(const arborfs::Store& store, const LogPlace& place,
                                                const StorageFolder* storage = nullptr);

struct HowToRemove {
  sqlite::Transaction::Sync sync = sqlite::Transaction::Sync::full;
  bool force = false;  // even while OpenCode is answering in one of the sessions
};

/// The rows of a session in a database, including secrets of shares, as lines of JSON in files/rows.json, and the files
/// storage/session_diff/<session>.json, which OpenCode writes in addition (opencode/FORMAT.md F1, G4). Errors of saving
/// also: busy (OpenCode answers, or another program holds the database for longer than the wait).
std::unique_ptr<Belongings> belongings_in_database(const arborfs::Store& store, const LogPlace& place,
                                                   HowToRemove how = {});

/// For a session of either kind of store; null if the store's sessions have no such place.
std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place);

}  // namespace arborfs::opencode
