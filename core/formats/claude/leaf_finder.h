// Finds the entry from which a transcript continues when its session is resumed (claude/FORMAT.md C1). Used by one
// thread.
#pragma once

#include <string>

#include "core/formats/claude/row.h"
#include "core/log/record_reader.h"

namespace arborfs::claude {

class LeafFinder {
 public:
  /// Call these for each row, in the order of the file.
  void take_node(const Row& node, Ordinal ordinal);
  void take_pin(const Row& pin);
  /// Call it when all entries are in the index.
  [[nodiscard]] Ordinal leaf(const RecordSink& index) const;

 private:
  std::string pin_;             // "" for none
  bool is_explicit_ = false;    // the pin counts even if the conversation continued below it
  bool is_rewound_ = false;     // to before the first prompt
  Ordinal row_ = kNoEntry;      // the last node that is of no sub-agent
  Ordinal any_row_ = kNoEntry;  // the last node
};

}  // namespace arborfs::claude
