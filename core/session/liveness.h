// Is some agent holding this session? (DESIGN 5, FIELD-FAILURES 0.2.) Looking changes nothing on disk. Any thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
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

/// check_liveness for many sessions: what is common to them is looked at once. Not for long. Any threads.
class LivenessRound {
 public:
  /// `store` outlives it.
  explicit LivenessRound(const SessionStore& store);

  /// Sessions of one folder, whose lock files are told by one listing. The round outlives it. Used by one thread.
  class Folder {
   public:
    [[nodiscard]] Liveness check(const Session& session) const;

   private:
    friend class LivenessRound;
    explicit Folder(const LivenessRound& round) : round_(round) {}
    const LivenessRound& round_;
    std::optional<Dir> dir_;                          // nothing when it cannot be opened
    std::optional<std::set<std::string>> dot_files_;  // lock files are among them; nothing when it cannot be listed
  };
  [[nodiscard]] Folder in(const std::string& folder) const;

 private:
  const SessionStore& store_;
  const std::vector<Breadcrumb> crumbs_;
  const std::vector<AgentProcess> agents_;
};

}  // namespace arborfs
