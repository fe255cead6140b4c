// A hash of the entries of an index: shows whether another index of the same log has the same entries, so that results
// from the first (node ids, sizes, inode numbers) are valid for the second. A value; any thread.
#pragma once

#include <cstdint>

#include "core/log/log_index.h"

namespace arborfs {

class IndexFingerprint {
 public:
  /// Reads every entry: about 0.1 µs each.
  static IndexFingerprint of(const LogIndex& index) { return of_first(index, index.size()); }
  /// True if `index` begins with the same entries; it may have more after them.
  [[nodiscard]] bool is_of(const LogIndex& index) const;
  [[nodiscard]] Ordinal entries() const { return entries_; }

 private:
  static IndexFingerprint of_first(const LogIndex& index, Ordinal entries);
  Ordinal entries_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace arborfs
