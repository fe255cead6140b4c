// Numbers for strings that are part of node ids: names of blobs, paths below artifacts/. Numbers are never reused and
// strings never dropped while the mount lives. Thread-safe; mutex_ is a leaf.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace arborfs {

class InternTable {
 public:
  /// From 1; 0 if the numbers have run out.
  std::uint32_t number_of(std::string_view text) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = numbers_.find(text); found != numbers_.end()) {
        return found->second;
      }
    }
    const std::unique_lock lock(mutex_);
    if (const auto found = numbers_.find(text); found != numbers_.end()) {
      return found->second;
    }
    if (texts_.size() >= UINT32_MAX) {
      return 0;
    }
    texts_.emplace_back(text);
    const auto number = static_cast<std::uint32_t>(texts_.size());
    numbers_.emplace(texts_.back(), number);
    return number;
  }

  [[nodiscard]] std::optional<std::string> text_of(std::uint32_t number) const {
    const std::shared_lock lock(mutex_);
    if (number == 0 || number > texts_.size()) {
      return std::nullopt;
    }
    return texts_[number - 1];
  }

 private:
  mutable std::shared_mutex mutex_;
  std::deque<std::string> texts_;                                // guarded by mutex_; elements never move
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  // guarded by mutex_; keys point into texts_
};

}  // namespace arborfs
