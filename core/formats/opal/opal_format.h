// Opal's sessions: one file each, of JSON lines or a DETS table, in `sessions/` of its data folder. See FORMAT.md in
// this folder for the facts. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/store/session_store.h"

namespace arborfs {

/// The format of files with JSON lines.
const Format& opal_format();
/// The format of DETS tables, which are shown as a translation to such lines.
const Format& opal_dets_format();

/// Opal's default data folder: $OPAL_DATA_DIR, else ~/.opal.
std::string own_opal_dir();

/// The store in that data folder, which need not exist. `disk` outlives it.
std::shared_ptr<SessionStore> make_opal_store(const std::string& data_dir, Disk& disk);

}  // namespace arborfs
