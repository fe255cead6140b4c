#include <csignal>
#include <cstdio>
#include <exception>

#include "tools/arborfs/run.h"

int main(int argc, char** argv) try {
  std::signal(SIGIO, SIG_IGN);    // sent by the leases that show whether a log is being written
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond RLIMIT_FSIZE fails with EFBIG and is cut back
  auto io = arborfs::cli::system_terminal();
  return arborfs::cli::run_arborfs(argc, argv, io);
} catch (const std::exception& bug) {
  std::fprintf(stderr, "arborfs: internal error: %s\n", bug.what());
  return arborfs::cli::kFailed;
}
