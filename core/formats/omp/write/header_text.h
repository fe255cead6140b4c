// The first lines of a log, as text: a new header, a changed one, a title slot (omp/FORMAT.md E1 to E6). Pure; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/formats/omp/log/dialect.h"
#include "core/log/log_index.h"

namespace arborfs {

struct NewHeader {
  Dialect dialect = Dialect::omp13;
  std::string id;
  std::int64_t timestamp_ms = 0;
  std::string cwd;
  std::string title;             // "" for none
  std::string title_source;      // 18: "user", "auto" or ""
  std::string parent_session;    // "" for none
  bool is_fork = false;          // the order of fields that fork() writes (omp/FORMAT.md E1, I1)
  std::string prompt_cache_key;  // 18, "" for none
};

/// The header's line with its line feed; in 18's dialect it follows a title slot's line.
std::string new_header_lines(const NewHeader& header);

/// Exactly 256 bytes with the line feed; the title is cut at a code point to fit (omp/FORMAT.md E2).
std::string title_slot_line(std::string_view title, std::string_view source, std::int64_t updated_ms);

/// Turns control characters into spaces, merges runs of spaces and trims the ends (omp/FORMAT.md E6).
std::string clean_title(std::string_view title);

/// The title of a session's fork: the title with " (fork)" added, cut so that both fit in the space that 18's dialect
/// has. A title that already ends in this stays unchanged, and an empty one stays empty.
std::string title_of_fork(std::string_view title, Dialect dialect);

/// `object` (the text of one JSON object) with the member set to `value_json`, in its place or at the end, or removed
/// if `value_json` is nothing. All other bytes are unchanged. Errors: invalid_argument if it is not an object.
Result<std::string> with_member(std::string_view object, std::string_view key,
                                std::optional<std::string_view> value_json);

/// The text of a member's value in `object`; nothing if there is no such member, or no object.
std::optional<std::string_view> member_text(std::string_view object, std::string_view key);

}  // namespace arborfs
