#include "core/search/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/base/parallel_for.h"
#include "core/base/wanted.h"
#include "core/search/index/search_index.h"
#include "core/search/query/fold.h"
#include "core/search/session_search.h"

namespace arborfs::search {

namespace {

/// The sessions that pass the filters on sessions, most recently changed first.
std::vector<SessionPtr> chosen_sessions(const Catalog& catalog, const Query& query) {
  std::vector<std::pair<std::int64_t, SessionPtr>> chosen;
  const auto view = catalog.view();
  for (const ShownAt& shown : view->all_shown()) {
    const Project& project = *shown.project;
    const SessionPtr& session = shown.session();
    const bool fits =
        query.project.empty() || project.cwd == query.project || project.name.find(query.project) != std::string::npos;
    const bool is_of_agent = query.agent.empty() || session->agent() == query.agent;
    const bool has_title = query.title.empty() || folded(session->title()).find(query.title) != std::string::npos;
    if (fits && is_of_agent && has_title) {
      chosen.emplace_back(session->mtime_ns(), session);
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<SessionPtr> sessions;
  sessions.reserve(chosen.size());
  for (auto& [mtime, session] : chosen) {
    sessions.push_back(std::move(session));
  }
  return sessions;
}

/// BM25 over sessions: each repetition of a word counts less, and long sessions count less.
std::vector<double> scores_of(const std::vector<SessionFindings>& found, std::size_t sessions) {
  constexpr double kSaturation = 1.2;
  constexpr double kLengthWeight = 0.75;
  double total = 0;
  for (const SessionFindings& one : found) {
    total += one.length;
  }
  const double mean = total > 0 ? total / static_cast<double>(found.size()) : 1;
  const auto with = static_cast<double>(found.size());
  const double rarity = std::log(1 + (static_cast<double>(sessions) - with + 0.5) / (with + 0.5));
  std::vector<double> scores;
  for (const SessionFindings& one : found) {
    const double length = 1 - kLengthWeight + kLengthWeight * one.length / mean;
    double score = 0;
    for (const double count : one.counts) {
      score += rarity * count * (kSaturation + 1) / (count + kSaturation * length);
    }
    scores.push_back(score);
  }
  return scores;
}

/// Best first; of equal ones the first.
void rank(std::vector<SessionFindings>& found, std::size_t sessions) {
  const auto scores = scores_of(found, sessions);
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<SessionFindings> ranked;
  ranked.reserve(found.size());
  for (const std::size_t i : order) {
    ranked.push_back(std::move(found[i]));
  }
  found = std::move(ranked);
}

std::vector<Match> matches_of(const std::vector<SessionFindings>& found, const Query& query, const Options& options,
                              const IndexLookup* lookup) {
  std::vector<Match> matches(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    matches[i].session = found[i].session;
  }
  const std::size_t shown = std::min(options.most_shown.value_or(found.size()), found.size());
  parallel_for(shown, [&](std::size_t i) {
    if (!options.is_over()) {
      matches[i] = find_hits(found[i], query, options, lookup);
    }
  });
  return matches;
}

/// When to look whether the result is still wanted, which costs more than the index takes to answer for a session.
class Looks {
 public:
  [[nodiscard]] bool is_due() {
    constexpr std::chrono::milliseconds kBetween{2};
    const auto now = Clock::now().time_since_epoch().count();
    auto next = next_.load(std::memory_order_relaxed);
    return now >= next && next_.compare_exchange_strong(next, now + Clock::duration(kBetween).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<Clock::rep> next_{0};
};

}  // namespace

Result<Found> search(const Catalog& catalog, const Query& query, const Options& options) {
  const auto sessions = chosen_sessions(catalog, query);
  const auto wanted = Wanted::here();
  std::atomic<bool> unwanted{false};
  Looks looks;
  Options here = options;
  here.is_over = [&] {
    if (looks.is_due() && !wanted()) {
      unwanted = true;
    }
    return unwanted.load(std::memory_order_relaxed) ||
           (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed));
  };
  const auto lookup = options.index != nullptr ? options.index->look_up(query, here.is_over) : nullptr;
  std::vector<std::optional<SessionFindings>> found(sessions.size());
  std::atomic<std::size_t> unreadable{0};
  parallel_for(sessions.size(), [&](std::size_t i) {
    if (here.is_over()) {
      return;
    }
    auto findings = search_session(sessions[i], query, here, lookup.get());
    if (!findings) {
      ++unreadable;
    } else {
      found[i] = std::move(*findings);
    }
  });
  if (here.is_over()) {
    return search_is_over();
  }
  std::vector<SessionFindings> ranked;
  for (auto& findings : found) {
    if (findings) {
      ranked.push_back(std::move(*findings));
    }
  }
  rank(ranked, sessions.size());
  Found result{matches_of(ranked, query, here, lookup.get()), unreadable};
  if (here.is_over()) {
    return search_is_over();
  }
  return result;
}

}  // namespace arborfs::search
