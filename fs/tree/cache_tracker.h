// What the kernel may still believe of answers that hold for a moment only (CacheTtl::moment): attributes of nodes, and
// what names lead to. When something changes it is told of these and of nothing else: what it was not told lately it
// asks for by itself.
//
// Attributes are noted before they are looked at, so that a change after that look is told of, which makes the kernel
// throw away an answer that is still on its way. Thread-safe; mutex_ is a leaf. Holds what was answered within the last
// two seconds.
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

/// A node's attributes (name empty), or a name in it.
struct Invalidation {
  NodeId node;
  std::string name;
  auto operator<=>(const Invalidation&) const = default;
};

class CacheTracker {
 public:
  using Clock = std::chrono::steady_clock;

  /// The node's attributes are about to be answered. Only kinds are noted of which the kernel is ever told.
  void note(NodeId node);
  /// A name's node was answered.
  void note_name(NodeId folder, std::string_view name);
  [[nodiscard]] bool may_know(const Invalidation& what) const;
  /// The names in a folder that it may know and that begin so.
  [[nodiscard]] std::vector<Invalidation> names_in(NodeId folder, std::string_view beginning = "") const;

 private:
  /// Longer than a moment, so that what is noted is held at least as long as the kernel believes it.
  static constexpr std::chrono::seconds kPeriod{1};
  void add(Invalidation what);
  mutable std::mutex mutex_;
  Clock::time_point turned_ = Clock::now();  // guarded by mutex_, as all below
  std::set<Invalidation> young_;
  std::set<Invalidation> old_;  // of the period before
};

}  // namespace arborfs
