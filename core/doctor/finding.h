// One thing about a store that is not as it should be, in plain words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

struct Finding {
  std::string_view kind;  // "torn_tail"; the list stands in arborfs.1
  std::string text;       // in words, fit to be shown
  std::optional<std::uint64_t> offset;
  std::uint64_t length = 0;
  Ordinal entry = kNoEntry;  // the one it is about, or the one before it
};

/// `entry #42 (a1b2c3d4)`, fit to be shown.
std::string entry_words(const LogIndex& index, Ordinal ordinal);
/// The id in quotes, fit to be shown.
std::string id_words(const EntryId& id);

}  // namespace arborfs
