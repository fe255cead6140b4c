// The verbs, one function each: a command line in, an exit status out. Results go to `io.out`, reasons of failure in
// words to `io.err`. The verbs that change a session use core/write/writer.h.
#pragma once

#include "tools/arborfs/command_line.h"

namespace arborfs::cli {

int run_mount(const CommandLine& line, Terminal& io);
int run_umount(const CommandLine& line, Terminal& io);
int run_ls(const CommandLine& line, Terminal& io);
int run_du(const CommandLine& line, Terminal& io);
int run_show(const CommandLine& line, Terminal& io);
int run_tree(const CommandLine& line, Terminal& io);
int run_context(const CommandLine& line, Terminal& io);
int run_text(const CommandLine& line, Terminal& io);
int run_files(const CommandLine& line, Terminal& io);
int run_commands(const CommandLine& line, Terminal& io);
int run_changes(const CommandLine& line, Terminal& io);
int run_export(const CommandLine& line, Terminal& io);
int run_open(const CommandLine& line, Terminal& io);
int run_tail(const CommandLine& line, Terminal& io);
int run_wait(const CommandLine& line, Terminal& io);
int run_search(const CommandLine& line, Terminal& io);
int run_history(const CommandLine& line, Terminal& io);
int run_stats(const CommandLine& line, Terminal& io);
int run_resume(const CommandLine& line, Terminal& io);
int run_append(const CommandLine& line, Terminal& io);
int run_branch(const CommandLine& line, Terminal& io);
int run_label(const CommandLine& line, Terminal& io);
int run_title(const CommandLine& line, Terminal& io);
int run_archive(const CommandLine& line, Terminal& io);
int run_unarchive(const CommandLine& line, Terminal& io);
int run_pin(const CommandLine& line, Terminal& io);
int run_unpin(const CommandLine& line, Terminal& io);
int run_protect(const CommandLine& line, Terminal& io);
int run_tag(const CommandLine& line, Terminal& io);
int run_summary(const CommandLine& line, Terminal& io);
int run_fork(const CommandLine& line, Terminal& io);
int run_new(const CommandLine& line, Terminal& io);
int run_checkpoint(const CommandLine& line, Terminal& io);
int run_rewind(const CommandLine& line, Terminal& io);
int run_rm(const CommandLine& line, Terminal& io);
int run_restore(const CommandLine& line, Terminal& io);
int run_trash(const CommandLine& line, Terminal& io);
int run_prune(const CommandLine& line, Terminal& io);
int run_relocate(const CommandLine& line, Terminal& io);
int run_undo(const CommandLine& line, Terminal& io);
int run_doctor(const CommandLine& line, Terminal& io);
int run_stores(const CommandLine& line, Terminal& io);
int run_completion(const CommandLine& line, Terminal& io);
int run_skill(const CommandLine& line, Terminal& io);

}  // namespace arborfs::cli
