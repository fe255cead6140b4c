// Where the branches of a session leave one of them. Queries on an index that must not change meanwhile (the caller
// holds the session's read guard).
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

/// Where another branch leaves the path.
struct Parting {
  Ordinal end = kNoEntry;          // of the other branch
  Ordinal first = kNoEntry;        // its first entry that is not on the path; its end, if it has no talk there
  Ordinal after = kNoEntry;        // the last entry of the page that both have; kNoEntry: none
  std::vector<Ordinal> next = {};  // the talk that follows `first`, the first kBeside of it
  static constexpr std::size_t kBeside = 5;
};

/// The other branches, newest first, at most `most`. `on_path` is the path to `end`, `on_page` what the page shows of
/// it.
std::vector<Parting> partings_of(const LogIndex& index, Ordinal end, const std::set<Ordinal>& on_path,
                                 const std::set<Ordinal>& on_page, std::size_t most);

}  // namespace arborfs
