// All handles that the kernel holds, of any kind. The kernel releases most of them; those that it still holds when the
// mount is removed are freed with the table. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace arborfs {

class OpenHandles {
 public:
  /// Returns the number that the kernel will use for the handle.
  std::uint64_t add(std::shared_ptr<void> handle) {
    const auto number = reinterpret_cast<std::uint64_t>(handle.get());
    const std::lock_guard lock(mutex_);
    handles_[number] = std::move(handle);
    return number;
  }
  /// Removes a handle from the table and returns it.
  std::shared_ptr<void> take(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    auto node = handles_.extract(number);
    return node ? std::move(node.mapped()) : nullptr;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<void>> handles_;  // guarded by mutex_
};

}  // namespace arborfs
