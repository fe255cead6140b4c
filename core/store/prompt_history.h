// The prompts that a user typed to an agent, as the agent keeps them apart from its sessions. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/store/effect.h"

namespace arborfs {

struct Prompt {
  std::int64_t time_s = 0;  // when it was typed last, seconds since 1970; any number, if something else wrote it
  std::string text;
  std::string cwd;      // "" if unknown
  std::string session;  // the session's id, "" if unknown
};

class PromptHistory {
 public:
  virtual ~PromptHistory() = default;

  /// Identifies one state. If two values are equal, nothing was written in between, as far as times show.
  struct State {
    std::int64_t mtime_ns = 0;
    std::uint64_t files = 0;  // a hash of the stats of all files
    bool operator==(const State&) const = default;
  };
  /// Reads no prompt. Errors: not_found if there is no history; permission, corrupt, io.
  [[nodiscard]] virtual Result<State> state() const = 0;

  /// Times, both ends included.
  struct Span {
    std::int64_t first_s = std::numeric_limits<std::int64_t>::min();
    std::int64_t last_s = std::numeric_limits<std::int64_t>::max();
  };
  struct Reading {
    std::function<void()> restart;            // forget all prompts taken so far: they come again
    std::function<bool(Prompt prompt)> take;  // false: no more are needed
  };
  /// The prompts of one state, newest first. Nothing is written. Errors: not_found if there is no history; busy,
  /// corrupt, unsupported (of a version that arborfs does not know), permission, too_large, io.
  virtual Result<void> read(const Span& span, const Reading& reading) const = 0;

  struct Adding {
    bool sync = true;                          // it is on disk when add() returns
    std::chrono::milliseconds patience{5000};  // how long add() waits for other programs that have the history locked
  };
  /// Adds a prompt; without a time, as one that is typed now. A prompt that is there already is treated as the agent
  /// treats one that is typed again. Creates the history if there is none. Returns what changed, so that it can be
  /// taken back; nothing if nothing did, or if that is not known. Errors: invalid_argument (nothing but white space),
  /// not_utf8; not_found if the agent has no folder; busy, corrupt, unsupported, permission, no_space, io.
  virtual Result<std::vector<Effect>> add(const Prompt& prompt, const Adding& how) = 0;

  /// Its file, for messages.
  [[nodiscard]] virtual const std::string& path() const = 0;
};

}  // namespace arborfs
