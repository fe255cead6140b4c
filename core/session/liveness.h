// Is some agent holding this session? (DESIGN 5, FIELD-FAILURES 0.2.) Looking changes nothing on disk. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/env/processes.h"
#include "core/session/session.h"

namespace arborfs {

struct Liveness {
  enum class State { quiet, maybe, live } state = State::quiet;
  std::vector<std::string> reasons;  // in words
};

/// `live`: another process has the log open for writing (lease test, else /proc) or holds its lock file, and not for
/// one write only; `maybe`: a breadcrumb names it or an agent runs in its cwd; else `quiet`.
Liveness check_liveness(const Session& session, const SessionStore& store);
/// The part of it that is not seen on the log itself: breadcrumbs, agents at work in its cwd. `maybe` or `quiet`.
Liveness check_traces(const Session& session, const SessionStore& store);
std::string_view liveness_word(Liveness::State state);

/// check_liveness for many sessions one after another: what is common to them is looked at once. Cheapest in the order
/// of their places. Used by one thread, not for long.
class LivenessRound {
 public:
  /// `store` outlives it.
  explicit LivenessRound(const SessionStore& store);
  Liveness check(const Session& session);

 private:
  const SessionStore& store_;
  const std::vector<Breadcrumb> crumbs_;
  const std::vector<AgentProcess> agents_;
  std::optional<std::pair<std::string, Dir>> folder_;  // the last one, by name
};

}  // namespace arborfs
