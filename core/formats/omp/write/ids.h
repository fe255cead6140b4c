// Ids and names as the agents choose them (omp/FORMAT.md F1 to F4). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/formats/omp/log/dialect.h"
#include "core/log/log_index.h"

namespace arborfs {

/// 8 lower-case hex digits for which `taken` is false, drawn up to 100 times; after that a 16-digit snowflake
/// (omp/FORMAT.md F1), or a whole UUID for pi (pi/FORMAT.md C1).
std::string new_entry_id(const std::function<bool(std::string_view)>& taken, Dialect dialect = Dialect::omp13);
/// A snowflake (13) or a UUIDv7 (18, pi) of that moment (omp/FORMAT.md F2, pi/FORMAT.md A3). Unique in this process.
std::string new_session_id(Dialect dialect, std::int64_t now_ms);
/// The snowflake of a moment and of the low 22 bits of a sequence number.
std::string snowflake(std::int64_t ms, std::uint32_t sequence);
/// `<time>_<id>.jsonl` (omp/FORMAT.md F3).
std::string log_file_name(std::int64_t now_ms, std::string_view session_id);
/// `.<log>.<snowflake>.tmp`, which agents recognise as a rewrite in progress (omp/FORMAT.md F8).
std::string temp_file_name(std::string_view log_name, std::int64_t now_ms);
/// The folder below sessions/ for a working directory; all three paths are absolute and resolved (omp/FORMAT.md F4).
std::string session_folder_name(std::string_view cwd, std::string_view home, std::string_view tmpdir);

}  // namespace arborfs
