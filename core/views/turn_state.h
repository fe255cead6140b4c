// Whether the turn at a session's leaf is in progress: what `wait` waits for (CONTRACT.md 2.18). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs {

struct TurnState {
  enum class How : std::uint8_t {
    open,         // in progress
    ended,        // by an answer
    interrupted,  // by a person
    stopped,      // not ended, but no agent works on it
    none,         // the session has no conversation
  };
  How how = How::none;
  std::string entry;  // the last entry that was said, as its files are named; "" for none
  std::string why;    // of a stop, in words
  [[nodiscard]] bool is_open() const { return how == How::open; }
};

std::string_view turn_word(TurnState::How how);
/// "ended: 000042-assistant-a1b2c3d4", without a line feed.
std::string turn_line(const TurnState& state);

/// Refreshes the session. The turn is in progress if the last thing said at the leaf, or the log, calls for more, and
/// an agent works on the session: one that certainly has it, or one that may have it if the log was written to within
/// ten minutes. Errors: those of reading the log.
Result<TurnState> turn_state(Session& session, const Catalog& catalog);

}  // namespace arborfs
