// Remembers what was expensive to make: whole documents while there is room, sizes for much longer. Everything here is
// keyed by a state that never changes again, so nothing is ever wrong; what is made of a log that was replaced or
// removed is forgotten, because it may hold the old file open, and with it the room on the disk. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "core/log/content.h"

namespace arborfs {

class ViewCache {
 public:
  /// generation, kind, item, epoch (0 for what does not depend on it)
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::uint32_t, std::uint32_t>;
  static constexpr std::size_t kMaxBytes = 2 << 20;
  static constexpr std::size_t kMaxSizes = 1 << 16;

  /// Null when it is not kept. Sizes are known of the epoch that was kept last.
  [[nodiscard]] std::shared_ptr<const Content> find(const Key& key);
  [[nodiscard]] std::optional<std::uint64_t> size_of(const Key& key) const;
  void keep(const Key& key, std::shared_ptr<const Content> content);
  /// Lets go of the documents of a generation, and of their sizes.
  void forget(std::uint32_t generation);

 private:
  struct Kept {
    Key key;
    std::shared_ptr<const Content> content;
    std::size_t cost = 0;
  };
  /// generation, kind, item
  using Item = std::tuple<std::uint32_t, std::uint8_t, std::uint32_t>;
  static Item item_of(const Key& key) { return {std::get<0>(key), std::get<1>(key), std::get<2>(key)}; }
  struct Size {
    std::uint64_t bytes = 0;
    std::uint32_t epoch = 0;  // that was kept last
  };
  void keep_size(const Key& key, std::uint64_t size);

  mutable std::mutex mutex_;
  std::list<Kept> recent_;  // newest first; guarded by mutex_
  std::map<Key, std::list<Kept>::iterator> by_key_;
  std::map<Item, Size> sizes_;
  std::size_t bytes_ = 0;
};

}  // namespace arborfs
