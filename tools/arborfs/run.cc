#include "tools/arborfs/run.h"

#include <unistd.h>

#include "tools/arborfs/access.h"
#include "tools/arborfs/choice.h"

namespace arborfs::cli {
int run_arborfs(int argc, const char* const* argv, Terminal& io) {
  if (::geteuid() != ::getuid() || ::getegid() != ::getgid()) {
    io.err << "arborfs: refusing to run set-uid or set-gid; remove these bits from its mode\n";
    return kFailed;
  }
  const CommandLine line = read_command_line(argc, argv, io);
  const auto may_run = check_project(line.project);
  const int status = line.run == nullptr ? line.status : may_run ? line.run(line, io) : fail(io, may_run.error());
  if (!io.out.flush()) {
    return fail(io, {Errc::io, "cannot write the output"});
  }
  return status;
}

}  // namespace arborfs::cli
