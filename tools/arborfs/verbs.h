// The verbs, one function each: a command line in, an exit status out. Results go to `io.out`, reasons of failure in
// words to `io.err`. Nothing here writes to a store.
#pragma once

#include "tools/arborfs/command_line.h"

namespace arborfs::cli {

int run_mount(const CommandLine& line, Terminal& io);
int run_umount(const CommandLine& line, Terminal& io);
int run_ls(const CommandLine& line, Terminal& io);
int run_show(const CommandLine& line, Terminal& io);
int run_tree(const CommandLine& line, Terminal& io);
int run_context(const CommandLine& line, Terminal& io);
int run_text(const CommandLine& line, Terminal& io);
int run_doctor(const CommandLine& line, Terminal& io);
int run_completion(const CommandLine& line, Terminal& io);

}  // namespace arborfs::cli
