// Memory that runs out when a test asks for it: one call of operator new in this thread fails, once.
#pragma once

#include <cstddef>

namespace arborfs::testing {

/// While it exists, skips `skipped` allocations of at least `least` bytes and makes the next one throw std::bad_alloc.
class FailingMemory {
 public:
  explicit FailingMemory(std::size_t skipped, std::size_t least = 0);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  [[nodiscard]] bool has_failed() const;
};

}  // namespace arborfs::testing
