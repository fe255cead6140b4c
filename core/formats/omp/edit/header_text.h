// The first lines of a log, as text: a new header, a title slot (omp/FORMAT.md E1 to E6); ids and names as the agents
// choose them (F1 to F4). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/formats/omp/log/dialect.h"

namespace arborfs::omp {

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

/// 8 lower-case hex digits for which `taken` is false, drawn up to 100 times; after that a 16-digit snowflake
/// (omp/FORMAT.md F1), or a whole UUID for pi (pi/FORMAT.md C1).
std::string new_entry_id(const std::function<bool(std::string_view)>& taken, Dialect dialect = Dialect::omp13);
/// A snowflake (13) or a UUIDv7 (18, pi) of that moment (omp/FORMAT.md F2, pi/FORMAT.md A3). Unique in this process.
std::string new_session_id(Dialect dialect, std::int64_t now_ms);
/// The snowflake of a moment and of the low 22 bits of a sequence number.
std::string snowflake(std::int64_t ms, std::uint32_t sequence);
/// `<time>_<id>.jsonl` (omp/FORMAT.md F3).
std::string log_file_name(std::int64_t now_ms, std::string_view session_id);
/// The folder below sessions/ for a working directory; all three paths are absolute and resolved (omp/FORMAT.md F4).
std::string session_folder_name(std::string_view cwd, std::string_view home, std::string_view tmpdir);

}  // namespace arborfs::omp
