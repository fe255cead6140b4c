// The JSON words of EntryType. Pure functions, any thread.
#pragma once

#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

/// The type of a word; `other` for an unknown one.
EntryType entry_type_of(std::string_view word);

/// The word of a known type, "" for `none` and `other`.
std::string_view entry_type_word(EntryType type);

}  // namespace arborfs
