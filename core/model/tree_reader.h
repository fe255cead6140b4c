// tree_of() in steps, for an index that others may let grow in between: what it says of entries that it has never
// changes, so each step may have the index to itself for a short time only. Used by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/tree.h"

namespace arborfs {

class TreeReader {
 public:
  /// The tree of the entries that `index` has now.
  explicit TreeReader(const LogIndex& index);
  /// Reads the next `most` entries; the same index, or one that has grown since. False when all have been read.
  bool read(const LogIndex& index, Ordinal most);
  /// The tree, once. Long for many entries, and without a look at the index.
  Tree take();

 private:
  [[nodiscard]] Ordinal node_of(const LogIndex& index, Ordinal ordinal) const;
  [[nodiscard]] Ordinal parent_of(const LogIndex& index, Ordinal ordinal) const;

  const Ordinal size_;
  const bool has_others_;  // entries that stand for others: some have the same id, or none
  Ordinal last_without_id_ = kNoEntry;
  Ordinal next_ = 1;
  // By ordinal:
  std::vector<Ordinal> parents_;
  std::vector<Ordinal> nodes_;  // that stand for them; empty where each stands for itself
  std::vector<std::int64_t> times_;
};

/// sort_like_agents() by times that were copied from an index, by ordinal.
void sort_like_agents(std::vector<Ordinal>& children, const std::vector<std::int64_t>& times);

}  // namespace arborfs
