#include "core/search/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "core/base/join_words.h"
#include "core/base/parallel_for.h"
#include "core/base/wanted.h"
#include "core/json/fold.h"
#include "core/render/text.h"
#include "core/search/query.h"
#include "core/search/search_index.h"
#include "core/search/session_search.h"

namespace arborfs::search {

namespace {

/// The sessions that pass the filters on sessions, most recently changed first.
std::vector<const ShownAt*> chosen_sessions(const Catalog& catalog, const CatalogView& view, const Query& query,
                                            const Hanging& left_out) {
  std::vector<std::pair<std::int64_t, const ShownAt*>> chosen;
  chosen.reserve(view.shown.size());
  for (const ShownAt* shown : view.shown) {
    const Project& project = *shown->project;
    const Session& session = *shown->session();
    const bool fits =
        query.project.empty() || project.cwd == query.project || project.name.find(query.project) != std::string::npos;
    const bool is_of_agent = query.agent.empty() || session.agent() == query.agent;
    const bool has_title = query.title.empty() || folded(session.title()).find(query.title) != std::string::npos;
    if (fits && is_of_agent && has_title && !catalog.is_in(session, left_out)) {
      chosen.emplace_back(session.mtime_ns(), shown);
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const ShownAt*> sessions;
  sessions.reserve(chosen.size());
  for (const auto& [mtime, shown] : chosen) {
    sessions.push_back(shown);
  }
  return sessions;
}

using Findings = std::vector<std::optional<SessionFindings>>;

/// BM25 over sessions: each repetition of a word counts less, and long sessions count less.
class Bm25 {
 public:
  explicit Bm25(const Findings& all) {
    double total = 0;
    double found = 0;
    for (const auto& one : all) {
      total += one ? one->length : 0;
      found += one ? 1 : 0;
    }
    mean_length_ = total > 0 ? total / found : 1;
    rarity_ = std::log(1 + (static_cast<double>(all.size()) - found + 0.5) / (found + 0.5));
  }
  [[nodiscard]] double score_of(const SessionFindings& one) const {
    constexpr double kSaturation = 1.2;
    constexpr double kLengthWeight = 0.75;
    const double length = 1 - kLengthWeight + kLengthWeight * one.length / mean_length_;
    double score = 0;
    for (const double count : one.counts) {
      score += rarity_ * count * (kSaturation + 1) / (count + kSaturation * length);
    }
    return score;
  }

 private:
  double mean_length_;
  double rarity_;
};

/// The places of the findings, those of the best session first; of equal ones the first.
std::vector<std::size_t> ranked(const Findings& all) {
  const Bm25 scores(all);
  std::vector<std::pair<double, std::size_t>> scored;
  scored.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]) {
      scored.emplace_back(scores.score_of(*all[i]), i);
    }
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::size_t> best_first;
  best_first.reserve(scored.size());
  for (const auto& [score, i] : scored) {
    best_first.push_back(i);
  }
  return best_first;
}

std::vector<Match> matches_of(const std::vector<const ShownAt*>& sessions, const Findings& found, const Query& query,
                              const Options& options, const IndexLookup* lookup) {
  const auto best_first = ranked(found);
  std::vector<Match> matches(best_first.size());
  for (std::size_t i = 0; i < matches.size(); ++i) {
    matches[i].shown = sessions[best_first[i]];
  }
  const std::size_t shown = std::min(options.most_shown.value_or(matches.size()), matches.size());
  parallel_for(shown, [&](std::size_t i) {
    if (!options.is_over()) {
      find_hits(*found[best_first[i]], query, options, lookup, matches[i]);
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
  const auto view = catalog.view();
  const auto sessions = chosen_sessions(catalog, *view, query, options.left_out);
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
  Findings found(sessions.size());
  std::atomic<std::size_t> unreadable{0};
  parallel_for(sessions.size(), [&](std::size_t i) {
    if (here.is_over()) {
      return;
    }
    auto findings = search_session(sessions[i]->session(), query, here, lookup.get());
    if (!findings) {
      ++unreadable;
    } else {
      found[i] = std::move(*findings);
    }
  });
  if (here.is_over()) {
    return search_is_over();
  }
  Found result{view, matches_of(sessions, found, query, here, lookup.get()), unreadable};
  if (here.is_over()) {
    return search_is_over();
  }
  return result;
}

namespace {

constexpr std::size_t kMostShown = 20;        // roles; each custom type of a record is one
constexpr std::size_t kCharactersShown = 40;  // of each word

std::string shown(std::string_view word) {
  return visible_line(word, kCharactersShown);
}

std::vector<std::string> agents_of_stores(const Catalog& catalog) {
  std::vector<std::string> agents;
  for (const auto& store : catalog.stores()) {
    const std::string_view agent = store->format().agent;
    if (std::find(agents.begin(), agents.end(), agent) == agents.end()) {
      agents.emplace_back(agent);
    }
  }
  return agents;
}

using Roles = std::set<std::string, std::less<>>;

/// Adds the roles of the session's entries.
void add_roles(Session& session, const std::atomic<bool>* cancelled, Roles& roles) {
  if (!session.refresh(Depth::index, cancelled)) {
    return;
  }
  const auto guard = session.read();
  const Ordinal count = guard ? guard->index().size() : kNoEntry;
  for (Ordinal ordinal = 1; ordinal <= count; ++ordinal) {
    const std::string_view role = guard->index().name(ordinal);
    if (roles.find(role) == roles.end()) {
      roles.emplace(role);
    }
  }
}

bool has_role(const Roles& roles, const std::string& wanted) {
  return std::any_of(roles.begin(), roles.end(), [&](const std::string& role) { return folded(role) == wanted; });
}

}  // namespace

Result<void> check_agent(const Catalog& catalog, const Query& query) {
  const auto agents = agents_of_stores(catalog);
  if (query.agent.empty() || std::find(agents.begin(), agents.end(), query.agent) != agents.end() ||
      catalog.view()->by_agent.contains(query.agent)) {
    return {};
  }
  return {Errc::invalid_argument,
          "no store of an agent '" + shown(query.agent) + "' is open; there are stores of " + join_words(agents)};
}

Result<void> check_role(const Catalog& catalog, const Query& query, const std::atomic<bool>* cancelled) {
  if (query.role.empty()) {
    return {};
  }
  const std::string wanted = folded(query.role);
  Roles roles;
  const auto view = catalog.view();
  for (const ShownAt* shown_at : view->shown) {
    const SessionPtr& session = shown_at->session();
    if (!query.agent.empty() && session->agent() != query.agent) {
      continue;
    }
    const Session::Use use(session);
    if (cancelled != nullptr && *cancelled) {
      return search_is_over();
    }
    add_roles(*session, cancelled, roles);
    if (has_role(roles, wanted)) {
      return {};
    }
  }
  std::vector<std::string> listed;
  for (const std::string& role : roles) {
    listed.push_back(shown(role));
  }
  listed.resize(std::min(listed.size(), kMostShown));
  return {Errc::invalid_argument, "no entry has the role '" + shown(query.role) + "'" +
                                      (listed.empty() ? "" : "; there are entries of " + join_words(listed))};
}

}  // namespace arborfs::search
