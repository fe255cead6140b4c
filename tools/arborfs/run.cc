#include "tools/arborfs/run.h"

#include <unistd.h>

#include "tools/arborfs/access.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

int run_verb(const CommandLine& line, Terminal& io) {
  switch (line.verb) {
    case Verb::mount:
      return run_mount(line, io);
    case Verb::umount:
      return run_umount(line, io);
    case Verb::ls:
      return run_ls(line, io);
    case Verb::show:
      return run_show(line, io);
    case Verb::tree:
      return run_tree(line, io);
    case Verb::context:
      return run_context(line, io);
    case Verb::text:
      return run_text(line, io);
    case Verb::append:
      return run_append(line, io);
    case Verb::branch:
      return run_branch(line, io);
    case Verb::label:
      return run_label(line, io);
    case Verb::title:
      return run_title(line, io);
    case Verb::fork:
      return run_fork(line, io);
    case Verb::create:
      return run_new(line, io);
    case Verb::rm:
      return run_rm(line, io);
    case Verb::restore:
      return run_restore(line, io);
    case Verb::prune:
      return run_prune(line, io);
    case Verb::doctor:
      return run_doctor(line, io);
    case Verb::search:
      return run_search(line, io);
    case Verb::stores:
      return run_stores(line, io);
    case Verb::completion:
      return run_completion(line, io);
    case Verb::none:
      break;
  }
  return line.status;
}

}  // namespace

int run_arborfs(int argc, const char* const* argv, Terminal& io) {
  if (::geteuid() != ::getuid() || ::getegid() != ::getgid()) {
    io.err << "arborfs: it refuses to run set-uid or set-gid; remove these bits from its mode\n";
    return kFailed;
  }
  const int status = run_verb(read_command_line(argc, argv, io), io);
  if (!io.out.flush()) {
    return fail(io, {Errc::io, "cannot write the output"});
  }
  return status;
}

}  // namespace arborfs::cli
