// tree_of() in steps, for an index that may grow between the steps. The data of an index about its existing entries
// never changes, so the caller needs to lock it only for one short step at a time. Used by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/tree.h"

namespace arborfs {

class TreeReader {
 public:
  /// Will read the tree of the entries that `index` has now.
  explicit TreeReader(const LogIndex& index);
  /// Reads up to `most` more entries from the same index, which may have grown. False once all have been read.
  bool read(const LogIndex& index, Ordinal most);
  /// Builds the tree; call it once, after read() returned false. Slow for many entries; does not use the index.
  Tree take();

 private:
  [[nodiscard]] Ordinal parent_of(const LogIndex& index, Ordinal ordinal) const;

  const Ordinal size_;
  const bool finds_places_;  // some entries have the same id
  Ordinal next_ = 1;
  // By ordinal:
  std::vector<Ordinal> parents_;
  std::vector<std::uint32_t> ids_;    // handles; empty unless finds_places_
  std::vector<std::uint32_t> named_;  // handles of the parents' ids; empty unless finds_places_
  std::vector<std::int64_t> times_;
};

/// sort_like_agents() with times that were copied from an index; `times` is indexed by ordinal.
void sort_like_agents(std::vector<Ordinal>& children, const std::vector<std::int64_t>& times);

}  // namespace arborfs
