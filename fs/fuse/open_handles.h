// The handles that the kernel holds, whatever they are. It gives most of them back; those it still had when the mount
// was taken away are freed with the table. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace arborfs {

class OpenHandles {
 public:
  /// The number by which the kernel will name the handle.
  std::uint64_t add(std::shared_ptr<void> handle) {
    const auto number = reinterpret_cast<std::uint64_t>(handle.get());
    const std::lock_guard lock(mutex_);
    handles_[number] = std::move(handle);
    return number;
  }
  /// Takes it out; it lives as long as what is returned.
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
