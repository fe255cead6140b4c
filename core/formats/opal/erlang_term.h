// Erlang terms in the external format as JSON, by the rules of Opal's JSON encoder (opal/FORMAT.md D4). Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs::opal {

/// Appends the JSON text of the term that `bytes`, without the version byte, consist of. Keys of maps are in byte
/// order. False if they are not one term, or one with a part that JSON cannot hold (a process, a function), that is
/// nested too deeply or has too many keys; `json` then ends with a part of it. Does not recurse.
bool append_term(std::string_view bytes, std::string& json);

}  // namespace arborfs::opal
