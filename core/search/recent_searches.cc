#include "core/search/recent_searches.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/wanted.h"
#include "core/search/search.h"

namespace arborfs::search {

namespace {

using Clock = std::chrono::steady_clock;

std::size_t cost_of(const SearchResult& result) {
  constexpr std::size_t kLinkBytes = 64;
  return result.report.excerpts.size() + result.report.hits.size() + result.report.links.size() * kLinkBytes;
}

bool is_fresh(const SearchResult& result, Catalog& catalog) {
  return catalog.feed().is_fresh(result.sequence, result.ended);
}

Result<Report> report_on(const Catalog& catalog, const std::string& text, const Query& query, Options options,
                         const Hanging& hanging) {
  options.left_out = hanging;
  ASSIGN_OR_RETURN(const Found found, search(catalog, query, options));
  if (found.matches.empty() && hanging.submounts.empty()) {
    RETURN_IF_ERROR(explain_nothing(catalog, query));
  }
  return report_of(text, found, hanging);
}

void keep_former(const SearchResult* before, SearchResult& found) {
  if (before == nullptr) {
    return;
  }
  found.former = before->former;
  if (before->report.links != found.report.links) {
    found.former.emplace(found.former.begin(), std::make_shared<const SearchLinks>(before->report.links),
                         before->ended);
  }
  std::erase_if(found.former, [&](const auto& links) { return found.ended - links.second > RecentSearches::kFormer; });
  found.former.resize(std::min(found.former.size(), RecentSearches::kMostFormer));
}

}  // namespace

std::uint32_t RecentSearches::number_of(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(queries_.begin(), queries_.end(), [&](const auto& row) { return row.second == text; });
  if (found != queries_.end()) {
    return found->first;
  }
  if (last_number_ == kMostNumbers) {
    return 0;
  }
  if (queries_.size() >= kMostQueries) {
    queries_.erase(queries_.begin());
  }
  queries_.emplace(++last_number_, text);
  return last_number_;
}

std::optional<std::string> RecentSearches::text_of(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = queries_.find(number);
  return found == queries_.end() ? std::nullopt : std::optional(found->second);
}

SearchResultPtr RecentSearches::find_locked(std::uint32_t number) const {
  const auto found =
      std::find_if(results_.begin(), results_.end(), [&](const auto& result) { return result->query == number; });
  return found == results_.end() ? nullptr : *found;
}

SearchResultPtr RecentSearches::known(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return find_locked(number);
}

SearchResultPtr RecentSearches::fresh(Catalog& catalog, std::uint32_t number) const {
  auto result = known(number);
  return result && is_fresh(*result, catalog) ? result : nullptr;
}

Result<SearchResultPtr> RecentSearches::search(Catalog& catalog, std::uint32_t number) {
  const auto asked = Clock::now();
  const auto text = text_of(number);
  if (!text) {
    return Error{Errc::stale, "the query is not known any more"};
  }
  const SingleFlight::Turn turn(searches_, number, Wanted::here());
  if (!turn.has()) {
    return search_is_over();
  }
  if (auto result = known(number); result && (result->begun >= asked || is_fresh(*result, catalog))) {
    return result;
  }
  return run(catalog, number, *text);
}

Result<SearchResultPtr> RecentSearches::run(Catalog& catalog, std::uint32_t number, const std::string& text) {
  SearchResult result;
  result.query = number;
  result.begun = Clock::now();
  result.sequence = catalog.feed().last_sequence();
  ASSIGN_OR_RETURN(Query query, parse_query(text));
  Options options;
  options.index = index_;
  options.most_shown = kMostExcerpts;
  on_search_();
  const auto report = [&catalog, text, query = std::move(query), options](const auto& hanging) {
    return report_on(catalog, text, query, options, hanging);
  };
  ASSIGN_OR_RETURN(result.report, catalog.beside_hanging<Report>(report));
  result.ended = Clock::now();
  return keep(std::move(result));
}

SearchResultPtr RecentSearches::keep(SearchResult found) {
  const std::lock_guard lock(mutex_);
  const auto before = find_locked(found.query);
  const bool is_same =
      before && before->report.excerpts == found.report.excerpts && before->report.hits == found.report.hits;
  found.version = is_same ? before->version : ++last_version_;
  found.made_ns = is_same ? before->made_ns : now_ns();
  keep_former(before.get(), found);
  results_.remove(before);
  results_.push_front(std::make_shared<const SearchResult>(std::move(found)));
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (auto at = results_.begin(); at != results_.end();) {
    bytes += cost_of(**at);
    const bool fits = ++count == 1 || (count <= kMostResults && bytes <= kMostBytes);
    at = fits ? std::next(at) : results_.erase(at);
  }
  return results_.front();
}

}  // namespace arborfs::search
