#include "core/views/spent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/threads.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/log/log_reader.h"
#include "core/log/log_stretches.h"

namespace arborfs::stats {
namespace {

/// An entry as the index has it, copied so that no lock is held while it is read.
struct Candidate {
  Ordinal ordinal = kNoEntry;
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::int64_t time_ms = 0;
};

struct Candidates {
  std::shared_ptr<const LogSource> log;
  std::vector<Candidate> entries;
  DialectNumber dialect{};
  std::optional<double> session_cost;
};

/// An entry without a time has that of the previous one.
Result<Candidates> candidates_of(const Session& session, Ordinal last) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  Candidates found{guard.log(), {}, index.dialect(), index.header().cost};
  std::int64_t time = json::parse_date(index.header().timestamp).value_or(session.mtime_ns() / 1'000'000);
  for (Ordinal ordinal = 1; ordinal <= std::min(index.size(), last); ++ordinal) {
    const Entry& entry = index.entry(ordinal);
    time = entry.timestamp_ms == Entry::kNoTime ? time : entry.timestamp_ms;
    found.entries.push_back({ordinal, entry.type, entry.offset, index.length(ordinal), time});
  }
  return found;
}

/// Reads one session; records of the same request count once.
class SessionReader {
 public:
  /// `is_alone`: no other session is read beside it or counted with it.
  SessionReader(const Session& session, const Prices& prices, bool is_in_starters, bool is_alone)
      : session_(session), prices_(prices), is_alone_(is_alone) {
    spent_.is_in_starters = is_in_starters;
  }

  Result<SessionSpent> read(Ordinal last) {
    ASSIGN_OR_RETURN(const auto candidates, candidates_of(session_, last));
    constexpr std::size_t kTogether = 4096;
    for (std::size_t first = 0; first < candidates.entries.size(); first += kTogether) {
      const auto some = std::span(candidates.entries).subspan(first);
      RETURN_IF_ERROR(take_all(candidates, some.first(std::min(some.size(), kTogether))));
    }
    return settle(candidates);
  }

 private:
  using Told = std::optional<EntryUsage>;

  Result<void> take_all(const Candidates& candidates, std::span<const Candidate> some) {
    constexpr std::size_t kRun = 64;
    std::vector<Told> told(some.size());
    std::vector<Result<void>> done((some.size() + kRun - 1) / kRun);
    const auto look = [&](std::size_t at) {
      const auto run = some.subspan(at * kRun);
      done[at] = look_at(*candidates.log, run.first(std::min(run.size(), kRun)), &told[at * kRun]);
    };
    if (is_alone_) {
      parallel_for(done.size(), look);
    } else {
      for (std::size_t at = 0; at < done.size(); ++at) {
        look(at);
      }
    }
    for (const Result<void>& one : done) {
      RETURN_IF_ERROR(one);
    }
    for (std::size_t at = 0; at < some.size(); ++at) {
      RETURN_IF_ERROR(take(candidates, some[at], told[at]));
    }
    return {};
  }

  Result<void> look_at(const LogSource& log, std::span<const Candidate> some, Told* told) const {
    if (Cancellation::is_requested()) {
      return Error{Errc::interrupted, "the sum was cancelled"};
    }
    constexpr std::uint64_t kAtOnce = 256 << 10;
    for (std::size_t first = 0; first < some.size();) {
      std::vector<LogStretches::Place> places;
      for (std::uint64_t bytes = 0; first + places.size() < some.size() && bytes < kAtOnce;
           bytes += places.back().length) {
        const Candidate& one = some[first + places.size()];
        places.push_back({one.offset, one.length > kMaxRenderedEntry ? 0 : one.length});
      }
      const std::size_t count = places.size();
      ASSIGN_OR_RETURN(const auto raw, LogStretches::read(log, std::move(places)));
      for (std::size_t at = 0; at < count; ++at) {
        const Candidate& one = some[first + at];
        told[first + at] =
            one.length > kMaxRenderedEntry ? std::nullopt : session_.format().renderer->usage(one.type, raw[at]);
      }
      first += count;
    }
    return {};
  }

  Result<void> take(const Candidates& candidates, const Candidate& one, Told& told) {
    if (!told || !counts(told->report.usage, candidates.dialect)) {
      return {};
    }
    Usage& usage = told->report.usage;
    usage.counts_in = 0;
    if (usage.cost == 0 && tokens_told(usage) == 0) {
      usage.cost = untold_usage().cost;  // another program spent the tokens, and its cost is unknown
    }
    const UsageLedger::Added added = ledger_.add(told->report);
    if (!added.is_new) {
      return {};
    }
    if (told->model.empty()) {
      ASSIGN_OR_RETURN(told->model, model_at(*candidates.log, one.offset));
    }
    Spent spent{one.ordinal,        one.time_ms,           0,         std::move(told->model),
                told->report.usage, told->report.may_grow, added.kept};
    spent.hash = is_alone_ ? 0 : hash_of(spent, session_.agent(), told->request);
    if (!names_model(spent.model)) {
      spent.model.clear();
    }
    spent_.messages.push_back(std::move(spent));
    return {};
  }

  /// The model that a record before this offset sets; "" if there is none.
  Result<std::string> model_at(const LogSource& log, std::uint64_t offset) {
    if (!changes_) {
      ASSIGN_OR_RETURN(changes_, session_.format().reader->model_changes(log, Cancellation::token()));
    }
    const auto next = std::partition_point(changes_->begin(), changes_->end(),
                                           [&](const auto& change) { return change.offset < offset; });
    return next == changes_->begin() ? std::string() : std::prev(next)->model;
  }

  /// Some records count in some dialects only.
  static bool counts(const Usage& usage, DialectNumber dialect) {
    return usage.counts_in == 0 || (usage.counts_in >> static_cast<unsigned>(dialect) & 1U) != 0;
  }

  /// Takes what all records together tell.
  SessionSpent settle(const Candidates& candidates) {
    const auto amounts = ledger_.amounts();
    double cost = 0;
    for (Spent& spent : spent_.messages) {
      spent.usage = spent.kept ? amounts[*spent.kept] : spent.usage;
      cost += std::isnan(spent.usage.cost) ? 0 : spent.usage.cost;
      if (!candidates.session_cost && !spent_.is_in_starters) {
        compute_cost(spent);
      }
    }
    std::erase_if(spent_.messages, [](const Spent& spent) { return spent.kept && !is_told(spent.usage); });
    if (candidates.session_cost && !candidates.entries.empty()) {
      spent_.whole_cost = std::max(0.0, *candidates.session_cost - cost);
      const auto newest =
          std::max_element(candidates.entries.begin(), candidates.entries.end(),
                           [](const Candidate& a, const Candidate& b) { return a.time_ms < b.time_ms; });
      spent_.last_ms = newest->time_ms;
    }
    return std::move(spent_);
  }

  void compute_cost(Spent& spent) const {
    const auto cost = lacks_cost(spent.usage) ? prices_.cost_of(spent.model, spent.usage) : std::optional<double>();
    spent.is_computed = cost.has_value();
    spent.usage.cost = cost.value_or(spent.usage.cost);
  }

  const Session& session_;
  const Prices& prices_;
  const bool is_alone_;
  UsageLedger ledger_;
  std::optional<std::vector<LogReader::ModelChange>> changes_;  // read for the first entry that names no model
  SessionSpent spent_;
};

}  // namespace

std::uint64_t hash_of(const Spent& spent, std::string_view agent, const std::string& request) {
  std::string text(agent);
  if (!request.empty()) {
    return xxh64(text + '\n' + request);
  }
  text += '\n' + std::to_string(spent.time_ms) + '\n' + spent.model;
  const Usage& usage = spent.usage;
  for (const double number : {usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost}) {
    text += '\n' + (std::isnan(number) ? std::string("-") : std::to_string(number));
  }
  return xxh64(text);
}

Result<SessionSpent> session_spent(const Session& session, const Prices& prices, bool is_in_starters) {
  return SessionReader(session, prices, is_in_starters, false).read(std::numeric_limits<Ordinal>::max());
}

Result<SessionSpent> session_spent_until(const Session& session, const Prices& prices, Ordinal last) {
  return SessionReader(session, prices, false, true).read(last);
}

Addend addend_of(const Spent& spent, const SessionSpent& all) {
  const bool is_without = !all.whole_cost && !all.is_in_starters && lacks_cost(spent.usage);
  return {spent.usage, 1, is_without ? 1 : 0, spent.is_computed ? 1 : 0, spent.is_computed ? spent.usage.cost : 0};
}

}  // namespace arborfs::stats
