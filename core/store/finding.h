// One fault of a session or of a store, in plain words.
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
  std::optional<std::uint64_t> offset = std::nullopt;
  std::uint64_t length = 0;
  Ordinal entry = kNoEntry;   // the entry it is about, or the one before it
  bool is_note = false;       // worth knowing, but no fault: the doctor says it and does not fail
  std::string leftover = {};  // the path of the file or folder that it is about, if a killed writer left it
};

/// The note that so many records of a type are not shown. `type` is safe to show.
Finding not_shown_note(std::string_view type, std::uint64_t count);

/// A finding about a file of a store that is not a session's log.
struct FileFinding {
  std::string path;
  Finding finding;
};

}  // namespace arborfs
