// Places rows without a uuid in the tree: they follow what precedes them in the file, and the conversation goes on
// below them (claude/FORMAT.md B7). A value; used by one thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/formats/claude/row.h"
#include "core/log/record_reader.h"

namespace arborfs::claude {

class LooseRows {
 public:
  /// Call these for each row, in the order of the file. `ordinal` is that of its entry.
  /// The parent of a loose row; valid until the next call. `id` is the one that its entry gets.
  std::string_view add_loose(const Row& row, std::string_view id, Ordinal ordinal);
  /// The parent of a node that would have the parent `parent`; valid until the next call.
  std::string_view parent_of(const Row& node, std::string_view parent);

  /// The leaf of a log whose nodes have the leaf `leaf`: the loose rows that follow it at the end of the file.
  [[nodiscard]] Ordinal leaf(Ordinal leaf, const RecordSink& index) const;

 private:
  /// The end of the rows of a sub-agent, or of the others.
  struct End {
    std::string last;              // the id of the last row, "" for none
    std::string before;            // if that is loose: the id of the node before the loose rows, "" for none
    Ordinal loose_row = kNoEntry;  // if that is loose: its ordinal
  };
  [[nodiscard]] End& end_of(const Row& row) { return ends_[row.is_sidechain ? 1 : 0]; }

  std::array<End, 2> ends_;
  std::string parent_;
};

}  // namespace arborfs::claude
