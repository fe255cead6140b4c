// Entries too long to be held in memory, read piece by piece: their top members by place. Pure functions over a log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_file.h"

namespace arborfs {

/// One member of an object in a log. `key` as spelled between its quotes, cut after 256 bytes.
struct PlacedMember {
  std::string key;
  std::uint64_t start = 0;   // of the key's opening quote
  std::uint64_t offset = 0;  // of the value
  std::uint64_t length = 0;
};

inline constexpr std::size_t kMostMembers = 100'000;

/// The members of the object that lies there, in order; none when it is no object. Errors: io, stale; too_large when
/// there are more than kMostMembers.
Result<std::vector<PlacedMember>> placed_members(const LogFile& log, std::uint64_t offset, std::uint64_t length);

/// The last one with that key, or nullptr.
const PlacedMember* find_member(const std::vector<PlacedMember>& members, std::string_view key);

/// JSON text of the object with those of its members that are short (1 MiB or less).
Result<std::string> short_members_json(const LogFile& log, std::uint64_t offset, std::uint64_t length);

}  // namespace arborfs
