// Which answers of limited lifetime (CacheTtl::moment) the kernel may still have cached: attributes of nodes, and which
// node a name leads to. A change invalidates these and nothing else: the kernel's other answers have expired, so it
// asks again by itself.
//
// Attributes are noted before they are read, so that a change after the read is invalidated; the kernel then discards
// an answer that is still on its way. Thread-safe; mutex_ is a leaf. Holds the answers of the last one to two seconds.
#pragma once

#include <chrono>
#include <compare>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/node_id.h"

namespace arborfs {

/// An item to invalidate: a node's attributes (name empty), or a name in it.
struct Invalidation {
  NodeId node;
  std::string name;
  auto operator<=>(const Invalidation&) const = default;
};

class CacheTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// Call it before a node's attributes are read and answered. Ignores kinds that are never invalidated.
  void note(NodeId node);
  /// Call it when the node of a name was answered.
  void note_name(NodeId folder, std::string_view name);
  [[nodiscard]] bool may_know(const Invalidation& what) const;
  /// The names in a folder that start with `beginning` and that the kernel may have cached.
  [[nodiscard]] std::vector<Invalidation> names_in(NodeId folder, std::string_view beginning = "") const;

 private:
  /// Longer than CacheTtl::moment, so that an answer is tracked at least as long as the kernel caches it.
  static constexpr std::chrono::seconds kPeriod{1};
  void add(Invalidation what);
  mutable std::mutex mutex_;
  Clock::time_point turned_ = Clock::now();  // guarded by mutex_, as are all below
  std::set<Invalidation> young_;
  std::set<Invalidation> old_;  // noted in the period before
};

}  // namespace arborfs
