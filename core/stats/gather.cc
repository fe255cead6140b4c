#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <unordered_set>
#include <utility>

#include "core/base/hash.h"
#include "core/base/parallel_for.h"
#include "core/base/result_macros.h"
#include "core/base/wanted.h"
#include "core/json/date.h"
#include "core/log/log_reader.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"
#include "core/stats/stats.h"

namespace arborfs::stats {

namespace {

/// This many sessions are read before their messages are counted, so that messages are counted in the order of the
/// sessions.
constexpr std::size_t kBatch = 16;
constexpr std::string_view kUnknown = "unknown";

/// The usage of a message.
struct Spent {
  std::int64_t time_ms = 0;
  std::uint64_t hash = 0;  // of the facts that it shares with its copies in other sessions
  std::string model;
  Usage usage;
  bool is_message = true;  // false: the cost of a session whose messages report none
};

/// An entry as the index has it, copied so that no lock is held while it is read.
struct Candidate {
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
Result<Candidates> candidates_of(const Session& session) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  Candidates found{guard.log(), {}, index.dialect(), index.header().cost};
  std::int64_t time = json::parse_date(index.header().timestamp).value_or(session.mtime_ns() / 1'000'000);
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    const Entry& entry = index.entry(ordinal);
    time = entry.timestamp_ms == Entry::kNoTime ? time : entry.timestamp_ms;
    found.entries.push_back({entry.type, entry.offset, index.length(ordinal), time});
  }
  return found;
}

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

/// Reads one session; records that report the usage of the same request count once.
class SessionReader {
 public:
  SessionReader(const SessionPtr& session, const Options& options) : session_(session), options_(options) {}

  Result<std::vector<Spent>> read() {
    const Session::Use use(session_);
    RETURN_IF_ERROR(session_->refresh(Depth::index, options_.cancelled));
    ASSIGN_OR_RETURN(const auto candidates, candidates_of(*session_));
    for (const Candidate& one : candidates.entries) {
      if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed)) {
        return Error{Errc::interrupted, "the sum was cancelled"};
      }
      RETURN_IF_ERROR(take(candidates, one));
    }
    add_session_cost(candidates);
    return std::move(spent_);
  }

 private:
  Result<void> take(const Candidates& candidates, const Candidate& one) {
    if (one.length > kMaxRenderedEntry) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto raw, candidates.log->read(one.offset, one.length));
    auto told = session_->format().renderer->usage(one.type, raw);
    if (!told || !counts(told->usage, candidates.dialect)) {
      return {};
    }
    if (told->key != 0 && !keys_.insert(told->key).second) {
      return {};
    }
    told->usage.counts_in = 0;
    if (told->model.empty()) {
      ASSIGN_OR_RETURN(told->model, model_at(*candidates.log, one.offset));
    }
    Spent spent{one.time_ms, 0, std::move(told->model), told->usage, true};
    spent.hash = hash_of(spent, session_->agent(), told->request);
    spent_.push_back(std::move(spent));
    return {};
  }

  /// The model that a record before this offset sets; "" if there is none.
  Result<std::string> model_at(const LogSource& log, std::uint64_t offset) {
    if (!changes_) {
      ASSIGN_OR_RETURN(changes_, session_->format().reader->model_changes(log, options_.cancelled));
    }
    const auto next = std::partition_point(changes_->begin(), changes_->end(),
                                           [&](const auto& change) { return change.offset < offset; });
    return next == changes_->begin() ? std::string() : std::prev(next)->model;
  }

  /// Some records count in some dialects only.
  static bool counts(const Usage& usage, DialectNumber dialect) {
    return usage.counts_in == 0 || (usage.counts_in >> static_cast<unsigned>(dialect) & 1U) != 0;
  }

  void add_session_cost(const Candidates& candidates) {
    if (!candidates.session_cost || candidates.entries.empty()) {
      return;
    }
    Spent whole{candidates.entries.back().time_ms, 0, spent_.empty() ? "" : spent_.back().model, untold_usage(), false};
    whole.usage.cost = *candidates.session_cost;
    whole.hash = hash_of(whole, session_->agent(), "");
    spent_.push_back(std::move(whole));
  }

  const SessionPtr& session_;
  const Options& options_;
  std::unordered_set<std::uint64_t> keys_;
  std::optional<std::vector<LogReader::ModelChange>> changes_;  // read for the first entry that names no model
  std::vector<Spent> spent_;
};

/// Evicts data that was loaded only for the sum.
Result<std::vector<Spent>> read_session(const SessionPtr& session, const Options& options) {
  const bool was_loaded = session->has(Depth::index);
  auto spent = SessionReader(session, options).read();
  if (!was_loaded) {
    session->let_go();
  }
  return spent;
}

std::string day_of(std::int64_t time_ms) {
  const std::int64_t day_start = time_ms - ((time_ms % 1000) + 1000) % 1000;
  const auto seconds = static_cast<std::time_t>(day_start / 1000);
  std::tm parts{};
  std::array<char, 40> text{};
  if (::localtime_r(&seconds, &parts) == nullptr) {
    return std::string(kUnknown);
  }
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

/// Counts the messages of sessions in their order.
class Counter {
 public:
  explicit Counter(const Options& options) : options_(options) {}

  void add(const Counted& of, const std::vector<Spent>& all) {
    const std::string agent(of.session->agent());
    std::vector<std::uint64_t> own;
    for (const Spent& spent : all) {
      if (counted_.contains(spent.hash)) {
        continue;
      }
      own.push_back(spent.hash);
      const bool is_within = (!options_.since_ms || spent.time_ms >= *options_.since_ms) &&
                             (!options_.until_ms || spent.time_ms < *options_.until_ms);
      if (is_within) {
        const std::string model = spent.model.empty() ? std::string(kUnknown) : spent.model;
        stats_.add({day_of(spent.time_ms), of.project, model, agent, of.id}, spent.usage, spent.is_message);
      }
    }
    counted_.insert(own.begin(), own.end());
  }
  void add_unreadable() { stats_.add_unreadable(); }
  Stats take() { return std::move(stats_); }

 private:
  const Options& options_;
  std::unordered_set<std::uint64_t> counted_;  // in earlier sessions
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

}  // namespace

Result<SessionUse> use_of(const SessionPtr& session, const Options& options) {
  ASSIGN_OR_RETURN(const auto all, read_session(session, options));
  SessionUse use;
  UsageTotals totals;
  for (const Spent& spent : all) {
    totals.add(spent.usage);
    if (!spent.model.empty()) {
      use.models.insert(spent.model);
    }
  }
  use.usage = totals.told();
  return use;
}

Result<Stats> gather(std::vector<Counted> sessions, const Options& options) {
  order_by_creation(sessions);
  const auto wanted = Wanted::here();
  Counter counter(options);
  for (std::size_t first = 0; first < sessions.size(); first += kBatch) {
    std::vector<Result<std::vector<Spent>>> read(std::min(kBatch, sessions.size() - first), std::vector<Spent>());
    parallel_for(read.size(), [&](std::size_t i) {
      read[i] = wanted() ? read_session(sessions[first + i].session, options)
                         : Result<std::vector<Spent>>(Error{Errc::interrupted, "the sum is no longer needed"});
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
