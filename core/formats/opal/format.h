// Opal's sessions: one file each, of JSON lines or a DETS table, in `sessions/` of its data folder. See FORMAT.md in
// this folder for the facts. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/store/store.h"

namespace arborfs::opal {

/// The format of files with JSON lines.
const Format& format();
const LogReader& reader();
const RecordRenderer& renderer();
/// The format of DETS tables, which are shown as a translation to such lines.
const Format& dets_format();

/// Opal's default data folder: $OPAL_DATA_DIR, else ~/.opal.
std::string own_dir();

/// The store in that data folder, which need not exist. `disk` outlives it.
std::shared_ptr<arborfs::Store> make_store(const std::string& data_dir, Disk& disk);

// The model and the provider that Opal uses when it starts (opal/FORMAT.md E). Opal does not store them in a session:
// arborfs stores those of a new session in its header's metadata, which Opal preserves but does not use. Any thread.

inline constexpr std::string_view kModelKey = "model";
inline constexpr std::string_view kProviderKey = "provider";

/// Opal's spelling, `provider:id`, of a model that is spelled so, or `provider/id`, or without a provider. Errors:
/// invalid_argument.
Result<std::string> model_to_start(std::string_view spelled);

}  // namespace arborfs::opal
