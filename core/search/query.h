// A user's search query. Words and phrases must all occur in a session's texts, whatever their case; they may be parts
// of words, as with `rg -i -F`. A leading `-` excludes sessions. Filters select sessions and entries. Pure functions,
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace arborfs::search {

struct Query {
  std::vector<std::string> wanted;    // folded (utf8.h)
  std::vector<std::string> unwanted;  // folded
  // Filters on sessions; "" for none.
  std::string agent;
  std::string project;  // the name, a part of it, or the working directory
  std::string title;    // folded; a part of it
  std::string tag;
  std::string path;  // of a file that the session's tools touched (touched.h)
  // Filters on entries: words are looked for only in entries that pass.
  std::string role;                       // LogIndex::role or LogIndex::name: user, tool, label
  std::string tool;                       // folded; the name of a tool that the entry calls
  std::string label;                      // of the entry
  std::optional<std::int64_t> after_ms;   // not before this time, ms since 1970
  std::optional<std::int64_t> before_ms;  // before this time

  [[nodiscard]] bool filters_entries() const {
    return !role.empty() || !tool.empty() || !label.empty() || after_ms || before_ms;
  }
};

/// No query may be longer, or have more words.
inline constexpr std::size_t kMostQueryBytes = 1024;
inline constexpr std::size_t kMostWords = 32;

/// Parses `word "a phrase" -unwanted -"a phrase" agent:A project:P title:T tag:T path:P role:R tool:T label:L
/// after:TIME before:TIME`. The value of a filter may be quoted. A TIME is a word of period.h and means its beginning.
/// A word with another name before a colon is a word. Errors: invalid_argument (nothing to search for, no time, a
/// filter twice, a quotation mark that is not closed), not_utf8, too_large.
Result<Query> parse_query(std::string_view text);

/// The query that a folder in search/ is named after: %2F is a slash, and %25 a percent sign.
std::string query_named(std::string_view name);

/// For a query that finds nothing: `'tol:' is no filter; did you mean 'tool:'?` for the first word that begins with the
/// misspelt name of a filter; "" if none does.
std::string misspelt_filter(const Query& query);

/// True once nobody needs the result of a search any more. Cheap; any thread.
using IsOver = std::function<bool()>;

/// The error of a search that ended for that reason: interrupted.
inline Error search_is_over() {
  return {Errc::interrupted, "the search was cancelled"};
}

}  // namespace arborfs::search
