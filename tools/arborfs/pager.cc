#include "tools/arborfs/pager.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/entry/text.h"
#include "tools/arborfs/programs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kShownPager = 200;
constexpr int kCannotRun = 126;  // of a shell: what is not run, and from 127 what is not found
constexpr int kNotFound = 127;

/// The variable's value, if it is set.
std::optional<std::string> variable(const Terminal& io, const char* name) {
  return io.env ? io.env(name) : std::nullopt;
}

struct sigaction ignored() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  return action;
}

}  // namespace

std::string pager_command(const Terminal& io) {
  if (!io.out_is_terminal || io.out_fd < 0 || variable(io, "TERM").value_or("") == "dumb") {
    return "";
  }
  auto named = variable(io, "ARBORFS_PAGER");
  named = named ? named : variable(io, "PAGER");
  if (!named) {
    return find_program(io, "less").empty() ? "" : "less -FRX";
  }
  return *named == "cat" ? "" : *named;
}

Pager::Pager(Terminal& io) : io_(io), command_(pager_command(io)) {
  std::array<int, 2> ends{};
  if (command_.empty() || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return;
  }
  io_.out.flush();
  own_out_ = ::fcntl(io_.out_fd, F_DUPFD_CLOEXEC, 0);
  child_ = own_out_ < 0 ? 0 : start_shell(command_, ends[0], {{"LESS", "FRX"}, {"LV", "-c"}});
  if (child_ > 0) {
    const auto ignore = ignored();
    ::sigaction(SIGPIPE, &ignore, &pipe_);
    ::sigaction(SIGINT, &ignore, &interrupt_);
    ::dup2(ends[1], io_.out_fd);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

Pager::~Pager() {
  if (child_ > 0) {
    io_.out.flush();
    ::dup2(own_out_, io_.out_fd);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    io_.out.clear();
    ::sigaction(SIGPIPE, &pipe_, nullptr);
    ::sigaction(SIGINT, &interrupt_, nullptr);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == kNotFound || WEXITSTATUS(status) == kCannotRun)) {
      io_.err << "arborfs: cannot run the pager '" << visible_line(command_, kShownPager)
              << "'; set ARBORFS_PAGER to another one, or to cat for none\n";
    }
  }
  if (own_out_ >= 0) {
    ::close(own_out_);
  }
}

}  // namespace arborfs::cli
