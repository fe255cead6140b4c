// The tokens and cost of the messages of one session, on all its branches, each message once. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/usage.h"
#include "core/session/session.h"
#include "core/views/prices.h"
#include "core/views/stats.h"

namespace arborfs::stats {

/// The usage of a message: of one request to a model, or of those of a task that the agent reports as one.
struct Spent {
  Ordinal entry = kNoEntry;  // that told of it first
  std::int64_t time_ms = 0;
  std::uint64_t hash = 0;  // hash_of()
  std::string model;       // "" if no model answered
  Usage usage;
  bool may_grow = false;            // UsageReport::may_grow
  std::optional<std::size_t> kept;  // UsageLedger::Added::kept
  bool is_computed = false;         // its cost, from prices
};

/// The usage of a session.
struct SessionSpent {
  std::vector<Spent> messages;
  std::optional<double> whole_cost;  // what its log tells of the session as a whole beyond its messages
  std::int64_t last_ms = 0;          // the newest time of its entries
  bool is_in_starters = false;       // the session that started this one tells a cost, which has that of this one
};

/// Equal for the copies of a message in sessions of the agent. `request`: EntryUsage::request.
std::uint64_t hash_of(const Spent& spent, std::string_view agent, const std::string& request);

/// Reads the log; needs Depth::index. A message for which nothing tells a cost has that of the prices, unless the
/// session as a whole tells one or `is_in_starters`. Errors: stale, io; interrupted once cancelled.
Result<SessionSpent> session_spent(const Session& session, const Prices& prices, bool is_in_starters = false);
/// Of its entries up to `last` alone, as if no other had been written, and without hashes. On two threads.
Result<SessionSpent> session_spent_until(const Session& session, const Prices& prices, Ordinal last);

/// What the message adds to a row of `all`.
Addend addend_of(const Spent& spent, const SessionSpent& all);

}  // namespace arborfs::stats
