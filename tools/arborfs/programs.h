// Other programs that a verb runs, and the text of commands for a shell.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
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

/// Variables for a child, where the environment does not have them.
using Defaults = std::vector<std::pair<std::string, std::string>>;
/// Starts a command line with /bin/sh, whose standard input is `in`. Returns the process, to be waited for; 0 if that
/// fails.
pid_t start_shell(const std::string& command, int in, const Defaults& defaults);

/// Lets the user edit a file at the terminal, and waits. `editor` is a command for /bin/sh, to which the file's path is
/// appended. Errors: io if it cannot be run or says that it failed.
Result<void> run_editor(const std::string& editor, const std::string& path);
/// $VISUAL, else $EDITOR, else `editor`, `nano` or `vi` if it is installed; "" for none, or on a dumb terminal without
/// a variable.
std::string editor_command(const Terminal& io);

/// Replaces this process by the program at `path`. Returns only if that fails.
Error become(const std::string& path, const std::vector<std::string>& words);

}  // namespace arborfs::cli
