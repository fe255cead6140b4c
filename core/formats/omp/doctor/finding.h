// One fault of a store, in plain words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

struct Finding {
  std::string_view kind;  // "torn_tail"; the list is in arborfs.1
  std::string text;       // in words, safe to show
  std::optional<std::uint64_t> offset;
  std::uint64_t length = 0;
  Ordinal entry = kNoEntry;  // the entry it is about, or the one before it
};

/// `entry #42 (a1b2c3d4)`, safe to show.
std::string entry_words(const LogIndex& index, Ordinal ordinal);
/// The id in quotes, safe to show.
std::string id_words(const EntryId& id);

}  // namespace arborfs
