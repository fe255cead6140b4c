// The top and the end of transcript.html and context.html, as HTML. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/html/page.h"
#include "core/session/session.h"

namespace arborfs {

/// The facts above the entries of a page. Those that are "" are left out.
struct PageFacts {
  std::string title;
  std::string agent;
  std::string id;
  std::string folder;
  std::int64_t first_ms = Entry::kNoTime;
  std::int64_t last_ms = Entry::kNoTime;
  std::string models;
  std::string entries;
  std::string tokens;
};
/// Those that the index tells of the entries of `path`.
PageFacts facts_of(const Session& session, const LogIndex& index, const std::set<Ordinal>& path);

/// "24 · 3 user · 9 assistant · 12 tool", from the number of entries by role_class(); "" for none.
std::string entry_counts(const std::map<std::string, std::size_t>& by_role);

/// `says`: HTML of a note below the title, "" for none.
std::string page_head(const PageFacts& facts, const std::vector<html::Link>& links, const std::string& says);
/// Finds entries, and shows them by kind.
std::string entries_bar();
std::string page_foot();

}  // namespace arborfs
