// Shows long output page by page on a terminal, as git does.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>

#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

/// The pager's command for a shell: that of $ARBORFS_PAGER, else of $PAGER, else `less -FRX`, which shows what fits on
/// the screen and ends. "" for none: if the output is no terminal or a dumb one, the command is empty or `cat`, or
/// less is not installed.
std::string pager_command(const Terminal& io);

/// While it exists, what is written to `io.out` goes to the pager. Its destructor waits until the user leaves it. A
/// user who leaves early has seen enough: that is no error of `io.out`. Ctrl-C meanwhile is for the pager.
class Pager {
 public:
  explicit Pager(Terminal& io);
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  Terminal& io_;
  std::string command_;
  pid_t child_ = 0;           // 0: there is none
  int own_out_ = -1;          // the standard output of before
  struct sigaction pipe_ {};  // what was done on SIGPIPE and SIGINT before
  struct sigaction interrupt_ {};
};

}  // namespace arborfs::cli
