// Other programs that a verb runs, and the text of commands for a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

/// The path of a program found through $PATH; "" if there is none.
std::string find_program(const Terminal& io, std::string_view name);

/// The word as a shell reads it, safe to show: quoted if necessary, and with escapes ($'…') if it has characters that a
/// terminal acts upon.
std::string shell_quoted(std::string_view word);

/// Runs the program at `path` with these words (the first is its name) as a filter: `input` is its standard input,
/// and its standard output is returned. Errors: interrupted if it fails, for example because the user quits it; io.
Result<std::string> run_filter(const std::string& path, const std::vector<std::string>& words, std::string_view input);

/// Replaces this process by the program at `path`. Returns only if that fails.
Error become(const std::string& path, const std::vector<std::string>& words);

}  // namespace arborfs::cli
