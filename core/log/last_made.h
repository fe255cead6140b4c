// Keeps the last few things of a kind that were made, although nobody may hold them. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace arborfs {

template <class T>
class LastMade {
 public:
  explicit LastMade(std::size_t most) : most_(most) {}
  void add(std::shared_ptr<T> made) {
    std::list<std::shared_ptr<T>> dropped;  // freed after the lock
    const std::lock_guard lock(mutex_);
    if (const auto known = std::find(kept_.begin(), kept_.end(), made); known != kept_.end()) {
      dropped.splice(dropped.begin(), kept_, known);
    }
    kept_.push_front(std::move(made));
    if (kept_.size() > most_) {
      dropped.splice(dropped.begin(), kept_, std::prev(kept_.end()));
    }
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::list<std::shared_ptr<T>> kept_;  // guarded by mutex_
};

}  // namespace arborfs
