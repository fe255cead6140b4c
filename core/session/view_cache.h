// Caches expensive results: whole documents while there is space, sizes for much longer. Keys name states that never
// change, so that no entry is ever wrong. Entries made from a log that was replaced or removed are dropped, because
// they may hold the old file open and with it its disk space. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "core/entry/content.h"

namespace arborfs {

class ViewCache {
 public:
  /// generation, number of the view, item, epoch (0 for content that does not depend on it)
  using Key = std::tuple<std::uint32_t, std::uintptr_t, std::uint32_t, std::uint32_t>;
  static constexpr std::size_t kMaxBytes = 2 << 20;
  static constexpr std::size_t kMaxSizes = 1 << 16;

  /// Null if it is not cached. The size of an item is known only for the epoch that was kept last.
  [[nodiscard]] std::shared_ptr<const Content> find(const Key& key);
  [[nodiscard]] std::optional<std::uint64_t> size_of(const Key& key) const;
  void keep(const Key& key, std::shared_ptr<const Content> content);
  /// Drops the documents of a generation, and their sizes.
  void forget(std::uint32_t generation);

 private:
  struct Kept {
    Key key;
    std::shared_ptr<const Content> content;
    std::size_t cost = 0;
  };
  /// generation, number of the view, item
  using Item = std::tuple<std::uint32_t, std::uintptr_t, std::uint32_t>;
  static Item item_of(const Key& key) { return {std::get<0>(key), std::get<1>(key), std::get<2>(key)}; }
  struct Size {
    std::uint64_t bytes = 0;
    std::uint32_t epoch = 0;  // kept last
  };
  void keep_size(const Key& key, std::uint64_t size);

  mutable std::mutex mutex_;
  std::list<Kept> recent_;  // newest first; guarded by mutex_
  std::map<Key, std::list<Kept>::iterator> by_key_;
  std::map<Item, Size> sizes_;
  std::size_t bytes_ = 0;
};

}  // namespace arborfs
