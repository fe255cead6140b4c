// Replaces messages of a path, as a compaction of Opal does (opal/FORMAT.md C5). Pure functions over an index that must
// not change meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs::opal {

/// A line of a log that its new file lacks, or has with another parent.
struct LineEdit {
  enum class What : std::uint8_t {
    removed,
    removed_if_dead,  // of several lines with one id, if the last one is removed
    relinked,
  };
  What what = What::removed;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// Messages of the path to the leaf that follow each other, from `first` to `last`.
struct Run {
  Ordinal first = kNoEntry;
  Ordinal last = kNoEntry;
};
/// Each is spelled as users name entries. Errors: not_found; invalid_argument if they are not on the path to the leaf,
/// or `last` is before `first`.
Result<Run> find_run(const LogIndex& index, const std::string& first, const std::string& last);

struct SegmentChange {
  std::vector<LineEdit> edits;       // in the order of the log
  std::vector<std::string> removed;  // ids
  std::string parent;                // of the first new message; "" for a root
  bool moves_leaf = false;           // it was removed
};
/// The first new message takes the parent of the first removed one, the children of the last removed one become those
/// of the last new one. Other children of removed messages keep a parent that no longer exists.
SegmentChange replace_segment(const LogIndex& index, const Run& run);

}  // namespace arborfs::opal
