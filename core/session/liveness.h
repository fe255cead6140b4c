// Whether an agent holds a session (CONTRACT.md 5.1, FAILURES.md P1, P2). Changes nothing on disk. Any thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/agent_look.h"
#include "core/session/catalog.h"
#include "core/store/log_writer.h"

namespace arborfs {

struct Liveness {
  enum class State { quiet, maybe, live } state = State::quiet;
  std::vector<std::string> reasons;  // in words
};

/// `live`: another process has the log open for writing (lease test, else /proc) or holds its lock file, in both cases
/// for longer than one write, or an agent's own sign proves that it has the session loaded; `maybe`: a running agent
/// may hold it (agent_look.h); else `quiet`. The list of agents is at most a second old.
Liveness check_liveness(const Session& session, const Catalog& catalog);
/// The same with the caller's look at the agents of the session's store.
Liveness check_liveness(const Session& session, const Catalog& catalog, const AgentLook& look);
/// Only the part of it that does not examine the log. `now` is the log's stat.
Liveness check_traces(const Session& session, const FileStat& now, const Catalog& catalog, const AgentLook& look);
/// The same as check_liveness() for a caller that holds the log's lock. Does not wait, so `live` may mean that another
/// process has the log open for just one write, which check_liveness() can tell.
Liveness check_under_lock(const Session& session, const LogWriter& writer, const Catalog& catalog,
                          const AgentLook& look);
std::string_view liveness_word(Liveness::State state);
/// "the session may be live: <reasons>".
std::string liveness_words(const Liveness& liveness);

/// check_liveness for many sessions: makes their common checks only once. Soon becomes stale. Any thread.
class LivenessRound {
 public:
  /// `catalog` outlives it.
  explicit LivenessRound(const Catalog& catalog);

  /// Sessions of one folder; one listing finds their lock files. The round outlives it. Used by one thread.
  class Folder {
   public:
    [[nodiscard]] Liveness check(const Session& session) const;

   private:
    friend class LivenessRound;
    explicit Folder(const LivenessRound& round) : round_(round) {}
    const LivenessRound& round_;
    std::optional<Dir> dir_;                          // nothing if it cannot be opened
    std::optional<std::set<std::string>> dot_files_;  // lock files are among them; nothing if it cannot be listed
  };
  [[nodiscard]] Folder in(const LogFolder& folder) const;

 private:
  const Catalog& catalog_;
  std::vector<std::unique_ptr<AgentLook>> looks_;  // by the store's number
};

}  // namespace arborfs
