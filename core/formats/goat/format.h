// goat's sessions, one folder each. See FORMAT.md in this folder for the facts. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace arborfs::goat {

const Format& format();
const LogReader& reader();
const RecordRenderer& renderer();

/// The store in `dir`, which need not exist: the folder of the sessions, or one that has it as `sessions`. `disk`
/// outlives it.
std::shared_ptr<arborfs::Store> make_store(const std::string& dir, Disk& disk);

}  // namespace arborfs::goat
