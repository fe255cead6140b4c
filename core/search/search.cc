#include "core/search/search.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/parallel_for.h"
#include "core/base/wanted.h"
#include "core/search/fold.h"
#include "core/search/search_index.h"
#include "core/search/session_search.h"

namespace arborfs::search {

namespace {

/// The sessions that pass the filters on sessions, most recently changed first.
std::vector<SessionPtr> chosen_sessions(const Catalog& catalog, const Query& query) {
  std::vector<SessionPtr> chosen;
  const auto view = catalog.view();
  for (const ShownAt& shown : view->all_shown()) {
    const Project& project = *shown.project;
    const SessionPtr& session = shown.session();
    const bool fits =
        query.project.empty() || project.cwd == query.project || project.name.find(query.project) != std::string::npos;
    const bool is_of_agent = query.agent.empty() || session->agent() == query.agent;
    const bool has_title =
        query.title.empty() || folded(session->head().header.title).find(query.title) != std::string::npos;
    if (fits && is_of_agent && has_title) {
      chosen.push_back(session);
    }
  }
  const auto is_newer = [](const SessionPtr& a, const SessionPtr& b) { return a->mtime_ns() > b->mtime_ns(); };
  std::stable_sort(chosen.begin(), chosen.end(), is_newer);
  return chosen;
}

/// BM25 over sessions: rare words count more, each repetition counts less, and long sessions count less.
void score(std::vector<SessionFindings>& found, std::size_t sessions) {
  constexpr double kSaturation = 1.2;
  constexpr double kLengthWeight = 0.75;
  double bytes = 0;
  for (const SessionFindings& one : found) {
    bytes += static_cast<double>(one.text_bytes);
  }
  const double mean = found.empty() ? 1 : std::max(1.0, bytes / static_cast<double>(found.size()));
  const auto with = static_cast<double>(found.size());
  const double rarity = std::log(1 + (static_cast<double>(sessions) - with + 0.5) / (with + 0.5));
  for (SessionFindings& one : found) {
    const double length = 1 - kLengthWeight + kLengthWeight * static_cast<double>(one.text_bytes) / mean;
    for (const std::uint64_t n : one.counts) {
      const auto count = static_cast<double>(n);
      one.match.score += rarity * count * (kSaturation + 1) / (count + kSaturation * length);
    }
  }
}

}  // namespace

Result<Found> search(const Catalog& catalog, const Query& query, const Options& options) {
  const auto sessions = chosen_sessions(catalog, query);
  const auto lookup = options.index != nullptr ? options.index->look_up(query) : nullptr;
  const auto wanted = Wanted::here();
  std::atomic<bool> unwanted{false};
  Options here = options;
  here.is_over = [&] {
    return unwanted.load(std::memory_order_relaxed) ||
           (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed));
  };
  std::mutex mutex;
  std::vector<std::pair<std::size_t, SessionFindings>> found;
  Found result;
  parallel_for(sessions.size(), [&](std::size_t i) {
    if (here.is_over() || !wanted()) {
      unwanted = true;
      return;
    }
    auto findings = search_session(sessions[i], query, here, lookup.get());
    const std::lock_guard lock(mutex);
    if (!findings) {
      ++result.unreadable;
    } else if (*findings) {
      found.emplace_back(i, std::move(**findings));
    }
  });
  if (here.is_over()) {
    return Error{Errc::interrupted, "the search was cancelled"};
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<SessionFindings> ordered;
  for (auto& [place, findings] : found) {
    ordered.push_back(std::move(findings));
  }
  score(ordered, sessions.size());
  for (SessionFindings& one : ordered) {
    result.matches.push_back(std::move(one.match));
  }
  std::stable_sort(result.matches.begin(), result.matches.end(),
                   [](const Match& a, const Match& b) { return a.score > b.score; });
  return result;
}

}  // namespace arborfs::search
