// Which sessions are shown in the children/ of which others (CONTRACT.md 2.11). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace arborfs {

/// What a session says of itself. Sessions start only others of their store.
struct FamilyMember {
  std::uint8_t store = 0;
  std::string_view id;
  std::string_view started_by;  // an id, "" for none
};

/// Of a list of sessions, by their places in it.
struct Families {
  static constexpr std::size_t kNone = SIZE_MAX;
  /// children/ in children/ are at most so many: names add up, and the kernel resolves paths of 4096 bytes.
  static constexpr std::size_t kDeepest = 8;
  /// The one in whose children/ each is shown; kNone for one that nobody started, whose starter is not in the list,
  /// that is in a circle of sessions that started one another, or that would be too deep.
  std::vector<std::size_t> starter;
  /// All places, each after its starter.
  std::vector<std::size_t> order;
};

/// Of several sessions with one id the first is the starter.
Families families_of(const std::vector<FamilyMember>& members);

}  // namespace arborfs
