#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/base/wanted.h"
#include "core/json/date.h"
#include "core/os/environment.h"
#include "core/views/spent.h"
#include "core/views/stats.h"

namespace arborfs::stats {

namespace {

/// This many sessions are read before their messages are counted, so that messages are counted in the order of the
/// sessions.
constexpr std::size_t kBatch = 16;
constexpr std::string_view kUnknown = "unknown";

/// Evicts data that was loaded only for the sum.
Result<SessionSpent> read_session(const SessionPtr& session, const Options& options, bool is_in_starters) {
  const bool was_loaded = session->has(Depth::index);
  const Session::Use use(session);
  const auto refreshed = session->refresh(Depth::index);
  auto spent =
      refreshed ? session_spent(*session, *options.prices, is_in_starters) : Result<SessionSpent>(refreshed.error());
  if (!was_loaded) {
    session->evict();
  }
  return spent;
}

Addend addend_of_cost(double cost) {
  Addend addend;
  addend.usage.cost = cost;
  return addend;
}

/// A day, week or month.
std::string time_of(std::int64_t time_ms, const char* form) {
  std::string time = local_time(time_ms, form);
  return time.empty() ? std::string(kUnknown) : time;
}

/// Counts the messages of sessions in their order.
class Counter {
 public:
  explicit Counter(const Options& options) : options_(options) {}

  /// `of` outlives the counter.
  void add(const Counted& of, const SessionSpent& all) {
    std::vector<std::uint64_t> own;
    for (const Spent& spent : all.messages) {
      if (spent.may_grow) {
        add_growing(of, spent, all);
      } else if (!counted_.contains(spent.hash)) {
        own.push_back(spent.hash);
        count(of, spent.time_ms, spent.model, addend_of(spent, all));
      }
    }
    counted_.insert(own.begin(), own.end());
    add_whole_cost(of, all);
  }
  void add_unreadable() { stats_.add_unreadable(); }
  Stats take() { return std::move(stats_); }

 private:
  /// A message of which later records may tell more.
  struct Growing {
    const Counted* of = nullptr;
    const std::string* model = nullptr;
    std::int64_t time_ms = 0;
    Usage usage;
    bool is_without_cost = false;
    bool is_computed = false;
  };

  void count(const Counted& of, std::int64_t time_ms, const std::string& model, const Addend& addend) {
    const bool is_within =
        (!options_.since_ms || time_ms >= *options_.since_ms) && (!options_.until_ms || time_ms < *options_.until_ms);
    if (is_within) {
      const std::string named = model.empty() ? std::string(kUnknown) : model;
      stats_.add({time_of(time_ms, "%Y-%m-%d"), time_of(time_ms, "%G-W%V"), time_of(time_ms, "%Y-%m"), of.project,
                  named, std::string(of.session->agent()), of.id, host_},
                 addend);
    }
  }

  void add_growing(const Counted& of, const Spent& spent, const SessionSpent& all) {
    const auto [known, is_new] = growing_.try_emplace(spent.hash);
    Growing& growing = known->second;
    if (is_new) {
      const Addend addend = addend_of(spent, all);
      growing = {&of,
                 &*models_.insert(spent.model).first,
                 spent.time_ms,
                 spent.usage,
                 addend.without_cost > 0,
                 spent.is_computed};
      return count(of, spent.time_ms, spent.model, addend);
    }
    const Usage before = growing.usage;
    Usage told = spent.usage;
    const bool was_computed = growing.is_computed;
    if (spent.is_computed && !growing.is_computed) {
      growing.is_computed = growing.is_without_cost;
      told.cost = growing.is_computed ? told.cost : untold_usage().cost;  // the first session has it in its whole cost
    }
    raise_usage(growing.usage, told);
    const bool has_cost_now = growing.is_without_cost && !lacks_cost(growing.usage);
    growing.is_without_cost = growing.is_without_cost && !has_cost_now;
    const Usage grown = usage_growth(before, growing.usage);
    count(*growing.of, growing.time_ms, *growing.model,
          {grown, 0, has_cost_now ? -1 : 0, growing.is_computed && !was_computed ? 1 : 0,
           growing.is_computed && !std::isnan(grown.cost) ? grown.cost : 0});
  }

  void add_whole_cost(const Counted& of, const SessionSpent& all) {
    if (!all.whole_cost) {
      return;
    }
    const Header header = of.session->head().header;
    const double own = *all.whole_cost - copied_cost(of.session->store_number(), header, all);
    costs_[{of.session->store_number(), header.id}] = *all.whole_cost;
    Spent whole{kNoEntry, all.last_ms, 0, "", addend_of_cost(*all.whole_cost).usage, false, std::nullopt};
    whole.hash = hash_of(whole, of.session->agent(), "");
    if (counted_.insert(whole.hash).second) {
      count(of, all.last_ms, all.messages.empty() ? "" : all.messages.back().model, addend_of_cost(own));
    }
  }

  /// A program that forks a session copies its cost, too (goat/FORMAT.md B2). A cost below the source's was begun anew.
  [[nodiscard]] double copied_cost(std::uint8_t store, const Header& header, const SessionSpent& all) const {
    const auto source = header.started_by.empty() ? costs_.find({store, header.parent_session}) : costs_.end();
    if (source == costs_.end()) {
      return 0;
    }
    const auto created = json::parse_date(header.timestamp);
    const bool has_own_entries = !created || all.last_ms > *created;
    const double copied = source->second <= *all.whole_cost ? source->second : 0;
    return has_own_entries ? copied : *all.whole_cost;
  }

  const Options& options_;
  std::unordered_set<std::uint64_t> counted_;  // in earlier sessions
  std::unordered_map<std::uint64_t, Growing> growing_;
  std::set<std::string> models_;                                  // of growing_
  std::map<std::pair<std::uint8_t, std::string>, double> costs_;  // of whole sessions, by store and id
  const std::string host_ = host_name();
  Stats stats_;
};

/// The session that was created first comes first: the others contain the copies.
void order_by_creation(std::vector<Counted>& sessions) {
  using Key = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::pair<Key, Counted>> keyed;
  keyed.reserve(sessions.size());
  for (Counted& of : sessions) {
    const std::int64_t written = of.session->mtime_ns();
    const auto created = json::parse_date(of.session->head().header.timestamp);
    keyed.emplace_back(Key(created.value_or(written / 1'000'000), written), std::move(of));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    sessions[i] = std::move(keyed[i].second);
  }
}

/// The cost that a session tells as a whole has those of the sessions that it started, and that these started.
class StartersWithCost {
 public:
  explicit StartersWithCost(const std::vector<Counted>& sessions) {
    for (const Counted& of : sessions) {
      const Header header = of.session->head().header;
      known_[{of.session->store_number(), header.id}] = {header.started_by, header.cost.has_value()};
    }
  }
  [[nodiscard]] bool have(const Session& session) const {
    constexpr int kDeepest = 32;
    std::string starter = session.head().header.started_by;
    for (int depth = 0; depth < kDeepest && !starter.empty(); ++depth) {
      const auto found = known_.find({session.store_number(), starter});
      if (found == known_.end() || found->second.has_cost) {
        return found != known_.end();
      }
      starter = found->second.started_by;
    }
    return false;
  }

 private:
  struct Known {
    std::string started_by;
    bool has_cost = false;
  };
  std::map<std::pair<std::uint8_t, std::string>, Known> known_;
};

SessionUse use_of(const SessionSpent& all) {
  SessionUse use;
  for (const Spent& spent : all.messages) {
    use.row.add(addend_of(spent, all));
    if (!spent.model.empty()) {
      use.models.insert(spent.model);
    }
  }
  if (all.whole_cost) {
    use.has_whole_cost = true;
    use.row.add(addend_of_cost(*all.whole_cost));
  }
  return use;
}

}  // namespace

Result<SessionUse> use_of(const SessionPtr& session, const Options& options) {
  ASSIGN_OR_RETURN(const auto all, read_session(session, options, false));
  return use_of(all);
}

Result<SessionUse> use_as_read(const Session& session) {
  ASSIGN_OR_RETURN(const auto all, session_spent(session, *Options().prices));
  return use_of(all);
}

Result<Stats> gather(std::vector<Counted> sessions, const Options& options) {
  order_by_creation(sessions);
  const StartersWithCost starters(sessions);
  const auto wanted = Wanted::here();
  Counter counter(options);
  for (std::size_t first = 0; first < sessions.size(); first += kBatch) {
    std::vector<Result<SessionSpent>> read(std::min(kBatch, sessions.size() - first), SessionSpent());
    parallel_for(read.size(), [&](std::size_t i) {
      const SessionPtr& session = sessions[first + i].session;
      read[i] = wanted() ? read_session(session, options, starters.have(*session))
                         : Result<SessionSpent>(Error{Errc::interrupted, "the sum is no longer needed"});
      options.step();
    });
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i]) {
        counter.add(sessions[first + i], *read[i]);
      } else if (read[i].error().code == Errc::interrupted) {
        return read[i].error();
      } else {
        counter.add_unreadable();
      }
    }
  }
  return counter.take();
}

}  // namespace arborfs::stats
