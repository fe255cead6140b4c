// The texts of OpenCode's files `<id>.json` (opencode/FORMAT.md F1). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"

namespace arborfs::opencode {

/// The ids of the files `<id>.json`, in byte order; none if there is no such directory.
std::vector<std::string> ids_in(const Result<Dir>& dir);

/// The same for writers, which must not take a folder that cannot be read for an empty one. Errors: those of reading
/// it, except that it does not exist.
Result<std::vector<std::string>> all_ids_in(const Result<Dir>& dir);
Result<std::vector<std::string>> all_ids_in(const Dir& dir);

/// The file's text; "" if there is none that can be read, or if it is longer than 64 MiB.
std::string text_in(const Dir& dir, std::string_view id);
std::string text_in(const Result<Dir>& dir, std::string_view id);
/// The same for writers. Errors: not_found; too_large above 64 MiB; those of reading it.
Result<std::string> whole_text_in(const Dir& dir, std::string_view id);

/// When a message was created. Messages sort by that, because ids start over every two years (opencode/FORMAT.md A4).
/// Infinity for a message without a time, which is being written: it comes last.
double created_in(std::string_view message);
/// Also false for a file that is being written.
bool is_answer(std::string_view message);
bool has_end(std::string_view answer);

}  // namespace arborfs::opencode
