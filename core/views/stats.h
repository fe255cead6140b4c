// Tokens and cost over sessions, by the time of each message: by day, project, model, agent, session and host. It reads
// the logs, one batch of sessions after the other, and keeps no text of a message. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/single_flight.h"
#include "core/entry/usage.h"
#include "core/session/catalog.h"
#include "core/views/prices.h"

namespace arborfs::stats {

enum class By : std::uint8_t { day, week, month, project, model, agent, session, host };
/// The host is the machine on which this process runs: no agent records another one.
inline constexpr std::array<std::string_view, 8> kByNames{"day",   "week",  "month",   "project",
                                                          "model", "agent", "session", "host"};
/// True for the parts of the calendar.
constexpr bool is_time(By by) {
  return by == By::day || by == By::week || by == By::month;
}
std::optional<By> by_named(std::string_view name);

/// A session whose usage counts, and how rows name it.
struct Counted {
  SessionPtr session;
  std::string project;
  std::string id;
};
/// All sessions that the view shows, including those in children/; `id` as in by-id/.
std::vector<Counted> all_counted(const CatalogView& view);

/// What a message, or a later record of one, adds to the rows.
struct Addend {
  Usage usage = untold_usage();
  int messages = 0;
  int without_cost = 0;      // negative if a later record tells the cost
  int computed = 0;          // of the messages: those whose cost is computed from prices
  double computed_cost = 0;  // the part of usage.cost that is
};

struct Row {
  /// Of a day 2026-02-16, of a week 2026-W07 (ISO 8601), of a month 2026-02, in the user's time zone; "unknown" for an
  /// unnamed model.
  std::string name;
  std::uint64_t messages = 0;      // each is one request to a model, or those of a task that the agent reports as one
  std::uint64_t without_cost = 0;  // of the messages: those that are not in usage.cost
  Usage usage = untold_usage();
  std::uint64_t computed = 0;  // as in Addend
  double computed_cost = 0;
  void add(const Addend& addend);
  /// True if its cost is not that of all its messages.
  [[nodiscard]] bool has_partial_cost() const { return without_cost > 0 && !std::isnan(usage.cost); }
};

struct Options {
  std::optional<std::int64_t> since_ms;
  std::optional<std::int64_t> until_ms;  // exclusive
  std::function<void()> step = [] {};    // a session has been read; called from any thread
  PricesPtr prices = Prices::in_force();
};

class Stats {
 public:
  /// Days, weeks and months in chronological order; other rows by their tokens, most first.
  [[nodiscard]] std::vector<Row> rows(By by) const;
  [[nodiscard]] const Row& total() const { return total_; }
  [[nodiscard]] std::size_t unreadable() const { return unreadable_; }

  using Names = std::array<std::string, kByNames.size()>;
  void add(const Names& names, const Addend& addend);
  void add_unreadable() { ++unreadable_; }

 private:
  std::array<std::map<std::string, Row>, kByNames.size()> sums_;
  Row total_;
  std::size_t unreadable_ = 0;
};

/// Each message counts once, in the session that was created first, although forks and continued sessions have copies
/// of it, with the largest value of each number that any record of it tells in any session. Messages with the same
/// time, model and numbers are copies, unless the agent names each request. If only the session as a whole has a cost,
/// it counts at the newest time of its entries, for the sessions that it started too; that of a fork counts as far as
/// it exceeds its source's. A request for which nothing tells a cost has that of `Options::prices`. Errors: interrupted
/// once cancelled, or once the calling thread's work is not Wanted.
Result<Stats> gather(std::vector<Counted> sessions, const Options& options = {});

/// The models and the usage of one session, over all its branches, each message once, including messages that it shares
/// with other sessions.
struct SessionUse {
  std::set<std::string> models;
  Row row;                      // without a name
  bool has_whole_cost = false;  // its agent tells a cost of the session, which has that of the sessions it started
};
/// Errors: those of reading; interrupted once cancelled.
Result<SessionUse> use_of(const SessionPtr& session, const Options& options = {});
/// The same, as the session was read; needs Depth::index.
Result<SessionUse> use_as_read(const Session& session);

/// The numbers that an agent tells of a session (RecordRenderer::usage_json), and behind them what is none of the
/// agent's: `computedCost`, the cost by prices of the messages of which it tells none, `messagesWithoutPrice`, how many
/// of these have no price, and `pricesOf`, the date of the list; nothing if no cost is computed.
std::string with_computed_cost(std::string usage, const SessionUse& use);

/// A cost as it is printed as a number: sums of decimal fractions have noise in their last digits.
double rounded_cost(double cost);

/// "0.0312", "1.25"; "-" if nothing has a cost; "~1.25" if some of it is computed from prices, "1.25+" if some messages
/// have none.
std::string cost_words(const Row& row);

/// The rows as tab-separated values below a header line; a number that no message reports is empty.
std::string tsv(const Stats& stats, By by);
/// The row as a JSON object, with its name under the key that `by` gives; a number that no message reports is absent.
std::string json_row(const Row& row, By by);
/// The same numbers in the order of both: "messages", "input", "output", "reasoning", "cacheRead", "cacheWrite",
/// "cost", "messagesWithoutCost" if the cost is partial, and "computedCost", the part of the cost that is computed from
/// prices, if there is one.
std::vector<std::pair<std::string_view, std::optional<double>>> numbers_of(const Row& row);

// The sums that the files of stats/ show. They serve requests while they are fresh (ChangeFeed::is_fresh), and requests
// at the same time share them. Thread-safe; mutex_ is a leaf and is not held while logs are read.

/// The groupings of the files, in the order of their listing.
inline constexpr std::array kShown{By::day, By::project, By::model, By::agent};

/// Behind their texts is that of stats.html.
inline constexpr std::size_t kStatsPage = kShown.size();

struct ShownStats {
  std::uint32_t version = 0;                      // differs where the texts differ; never reused
  std::array<std::string, kStatsPage + 1> texts;  // as kShown, and the page
  std::int64_t made_ns = 0;                       // of this version
  std::uint64_t sequence = 0;                     // of the change feed before the logs were read
  std::chrono::steady_clock::time_point begun;
  std::chrono::steady_clock::time_point ended;
};
using ShownStatsPtr = std::shared_ptr<const ShownStats>;

class RecentStats {
 public:
  /// The last sums; null if there are none.
  [[nodiscard]] ShownStatsPtr known() const;
  /// The same, if they still match the logs.
  [[nodiscard]] ShownStatsPtr fresh(Catalog& catalog) const;
  /// Fresh sums; reads all logs if there are none, or waits for another thread that does. Errors: interrupted
  /// (cancelled, or no longer Wanted).
  Result<ShownStatsPtr> sum_up(Catalog& catalog);

 private:
  Result<ShownStatsPtr> run(Catalog& catalog);
  ShownStatsPtr keep(ShownStats made);
  mutable std::mutex mutex_;
  ShownStatsPtr last_;              // guarded by mutex_
  std::uint32_t last_version_ = 0;  // guarded by mutex_
  SingleFlight sums_;
};

}  // namespace arborfs::stats
