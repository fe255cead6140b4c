#include "core/session/liveness.h"

#include <unistd.h>

#include "core/env/publish_lock.h"

namespace arborfs {

namespace {

/// Longer than anybody who writes once has a log open, or locked. Who was seen to stay need not be watched so long.
std::chrono::milliseconds one_write(const Session& session) {
  return std::chrono::milliseconds(session.was_live_lately() ? 0 : 100);
}

void look_at_file(const Session& session, const Dir& folder, Liveness& found) {
  const std::string log = session.place().file;
  if (auto file = File::open_in(folder, log); file && is_open_for_writing(*file, one_write(session))) {
    found.state = Liveness::State::live;
    found.reasons.emplace_back("another process has the log open for writing");
  }
  long owner = 0;
  const auto held_by_other = [&] {
    owner = read_lock_file(folder, log).pid;
    return owner != ::getpid() && is_process_alive(owner);
  };
  if (is_lasting(held_by_other, one_write(session))) {
    found.state = Liveness::State::live;
    found.reasons.emplace_back("process " + std::to_string(owner) + " holds its lock file");
  }
  if (found.state == Liveness::State::live) {
    session.note_live();
  }
}

void look_for_traces(const Session& session, const std::vector<Breadcrumb>& crumbs,
                     const std::vector<AgentProcess>& agents, Liveness& found) {
  const LogPlace place = session.place();
  for (const auto& crumb : crumbs) {
    if (crumb.place == place) {
      found.reasons.emplace_back("terminal " + crumb.terminal + " used it last");
    }
  }
  const std::string cwd = session.head().header.cwd;
  for (const auto& agent : agents) {
    if (!cwd.empty() && agent.cwd == cwd) {
      found.reasons.emplace_back(agent.program + " (process " + std::to_string(agent.pid) +
                                 ") runs in its working directory");
    }
  }
  if (found.state == Liveness::State::quiet && !found.reasons.empty()) {
    found.state = Liveness::State::maybe;
  }
}

}  // namespace

Liveness check_liveness(const Session& session, const SessionStore& store) {
  return LivenessRound(store).check(session);
}

Liveness check_traces(const Session& session, const SessionStore& store) {
  Liveness found;
  look_for_traces(session, store.breadcrumbs(), running_agents(), found);
  return found;
}

LivenessRound::LivenessRound(const SessionStore& store)
    : store_(store), crumbs_(store.breadcrumbs()), agents_(running_agents()) {}

Liveness LivenessRound::check(const Session& session) {
  const LogPlace place = session.place();
  if (!folder_ || folder_->first != place.folder) {
    auto opened = store_.folder(place);
    folder_ = opened ? std::make_optional(std::make_pair(place.folder, std::move(*opened))) : std::nullopt;
  }
  Liveness found;
  if (folder_) {
    look_at_file(session, folder_->second, found);
  }
  look_for_traces(session, crumbs_, agents_, found);
  return found;
}

std::string_view liveness_word(Liveness::State state) {
  switch (state) {
    case Liveness::State::live:
      return "live";
    case Liveness::State::maybe:
      return "maybe";
    case Liveness::State::quiet:
      break;
  }
  return "quiet";
}

}  // namespace arborfs
