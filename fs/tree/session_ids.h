// Short numbers (slots) for sessions in node ids: one for a session itself, one for each of its generations that has
// been shown. A slot is never reused, so a node of an old generation is always recognised as such. Thread-safe; mutex_
// is a leaf.
#pragma once

#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace arborfs {

class SessionIds {
 public:
  struct Slot {
    std::uint32_t session = 0;     // Session::number
    std::uint32_t generation = 0;  // 0: the session itself
  };
  /// Makes the slot if there is none. 0 if the numbers have run out (16 million).
  std::uint32_t slot_of(std::uint32_t session, std::uint32_t generation);
  /// 0 if slot_of() never created it: then the kernel cannot know it either.
  [[nodiscard]] std::uint32_t find(std::uint32_t session, std::uint32_t generation) const;
  [[nodiscard]] std::optional<Slot> at(std::uint32_t slot) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_{Slot{}};                           // guarded by mutex_; slot 0 is not a session
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // guarded by mutex_
};

}  // namespace arborfs
