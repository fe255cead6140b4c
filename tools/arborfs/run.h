// The program `arborfs`, as a function.
#pragma once

#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

/// Runs one command line; argv[0] is the program's name. Returns the exit status: kDone, kFailed with the reason in
/// words on `io.err`, or kUsage. Throws only for bugs and when memory runs out.
int run_arborfs(int argc, const char* const* argv, Terminal& io);

}  // namespace arborfs::cli
