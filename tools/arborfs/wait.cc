// arborfs wait: returns when the turn in progress in a session has ended.

#include <chrono>

#include "core/session/watcher.h"
#include "core/views/turn_state.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

/// Between looks when nothing changes: an agent may end without a word.
constexpr std::chrono::milliseconds kLook{1000};

void print_end(const TurnState& state, const std::string& id, bool json, Terminal& io) {
  if (!json) {
    io.out << turn_line(state) << "\n";
    return;
  }
  auto object = JsonText::object().add("session", id).add("turn", turn_word(state.how)).add("entry", state.entry);
  io.out << terminal_safe_json(object.add("why", state.why).str()) << "\n";
}

}  // namespace

int run_wait(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const ChangeFeed& feed = opened->catalog->feed();
  const Watcher watcher(*opened->catalog, Watcher::Mode::inotify);
  for (bool is_told = !io.err_is_terminal;;) {
    const std::uint64_t seen = feed.last_sequence();
    const auto state = turn_state(*opened->of.session, *opened->catalog);
    if (!state) {
      return fail(io, state.error());
    }
    if (!state->is_open()) {
      print_end(*state, opened->of.id, line.json, io);
      return kDone;
    }
    if (!is_told) {
      io.err << "waiting for the turn after " << state->entry << "; Ctrl-C ends\n";
      is_told = true;
    }
    static_cast<void>(feed.wait(seen, kLook));
  }
}

}  // namespace arborfs::cli
