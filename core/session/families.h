// Which sessions are shown in the children/ of which others (CONTRACT.md 2.11). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace arborfs {

/// The facts that a session has about itself. A session starts only sessions of its own store.
struct FamilyMember {
  std::uint8_t store = 0;
  std::string_view id;
  std::string_view started_by;  // an id, "" for none
};

/// The families of a list of sessions, by their places in it.
struct Families {
  static constexpr std::size_t kNone = SIZE_MAX;
  /// The limit on nested children/: names add up, and the kernel resolves paths of 4096 bytes.
  static constexpr std::size_t kDeepest = 8;
  /// For each session, the one in whose children/ it is shown; kNone if no session started it, if its starter is not in
  /// the list, if it is in a cycle of sessions that started one another, or if it would be too deep.
  std::vector<std::size_t> starter;
  /// All places, each after its starter.
  std::vector<std::size_t> order;
};

/// If several sessions have the same id, the first is the starter.
Families families_of(const std::vector<FamilyMember>& members);

}  // namespace arborfs
