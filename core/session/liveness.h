// Is some agent holding this session? (CONTRACT.md 5.1, FAILURES.md P1, P2.) Looking changes nothing on disk. Any
// thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/agent_look.h"
#include "core/session/catalog.h"

namespace arborfs {

struct Liveness {
  enum class State { quiet, maybe, live } state = State::quiet;
  std::vector<std::string> reasons;  // in words
};

/// `live`: another process has the log open for writing (lease test, else /proc), holds its lock file, and not for one
/// write only, or owns the session by a lease; `maybe`: an agent that runs may hold it (agent_look.h); else `quiet`.
/// Agents are those of kAgentsRemembered ago at most.
Liveness check_liveness(const Session& session, const Catalog& catalog);
/// The part of it that is not seen on the log itself, which is `now`.
Liveness check_traces(const Session& session, const FileStat& now, const Catalog& catalog, const AgentLook& look);
std::string_view liveness_word(Liveness::State state);
/// "the session may be live: <reasons>".
std::string liveness_words(const Liveness& liveness);

/// check_liveness for many sessions: what is common to them is looked at once. Not for long. Any threads.
class LivenessRound {
 public:
  /// `catalog` outlives it.
  explicit LivenessRound(const Catalog& catalog);

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
  const Catalog& catalog_;
  const AgentLook look_;
};

}  // namespace arborfs
