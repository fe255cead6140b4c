// The differences in how the agents write, as one table. Any thread.
#pragma once

#include <string_view>

#include "core/formats/omp/log/dialect.h"

namespace arborfs {

struct DialectRules {
  std::string_view agent;
  /// Entries pass through the persistence filter (persist.h). Otherwise each is written unchanged.
  bool filters_entries;
  /// The title is an entry of its own (pi/FORMAT.md C6), not a member of the header.
  bool names_by_entry;
  /// The fromId of a new branch_summary is the leaf that was left (pi/FORMAT.md C9), not its parent (omp/FORMAT.md H7).
  bool tells_left_leaf;
  /// parentSession is always a path (pi/FORMAT.md B2). Else whole forks and new sessions have an id (omp/FORMAT.md I1).
  bool parent_is_path;
  /// The header of a moved log lists where the log was before (omp/FORMAT.md G10).
  bool lists_old_places;
};

const DialectRules& rules_of(Dialect dialect);

}  // namespace arborfs
