// Finds the top-level members of entries that are too long to be held in memory, reading them piece by piece. Pure
// functions over a log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_source.h"

namespace arborfs {

/// One member of an object in a log. `key` is the raw text between its quotes, cut after 256 bytes.
struct PlacedMember {
  std::string key;
  std::uint64_t start = 0;   // of the key's opening quote
  std::uint64_t offset = 0;  // of the value
  std::uint64_t length = 0;
};

inline constexpr std::size_t kMostMembers = 100'000;

/// The members of the object at `offset`, in order; none if the value there is not an object. Errors: io, stale;
/// too_large if there are more than kMostMembers.
Result<std::vector<PlacedMember>> placed_members(const LogSource& log, std::uint64_t offset, std::uint64_t length);

/// The last member with that key, or nullptr.
const PlacedMember* find_member(const std::vector<PlacedMember>& members, std::string_view key);

/// The object as JSON text, with only its short members (1 MiB or less). Errors: those of placed_members.
Result<std::string> short_members_json(const LogSource& log, std::uint64_t offset, std::uint64_t length);

}  // namespace arborfs
