// Is some agent holding this session? (DESIGN 5, FIELD-FAILURES 0.2.) Looking changes nothing on disk. Any thread.
#pragma once

#include <string>
#include <vector>

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

}  // namespace arborfs
