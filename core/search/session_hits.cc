#include <algorithm>

#include "core/render/names.h"
#include "core/search/candidates.h"
#include "core/search/query/fold.h"
#include "core/search/session_search.h"

namespace arborfs::search {

namespace {

/// Once it has a hit, a search reads no more than this of the texts of a session for better ones.
constexpr std::size_t kMostBytes = std::size_t{64} << 10U;

class HitFinder {
 public:
  HitFinder(const SessionPtr& session, const Query& query, const Options& options, Match& match)
      : session_(session), query_(query), options_(options), match_(match) {}

  void run(const Candidates& candidates) {
    for (const Candidate& one : candidates.entries) {
      if (is_done()) {
        match_.has_more = true;
        break;
      }
      const auto text = read_candidate(*session_, candidates, one);
      if (!text) {
        match_.has_more = true;  // the session has just changed
        break;
      }
      take(one.ordinal, *text);
    }
    std::sort(match_.hits.begin(), match_.hits.end(), [](const Hit& a, const Hit& b) { return a.ordinal < b.ordinal; });
    name_hits(candidates);
  }

 private:
  [[nodiscard]] bool is_done() const {
    const bool is_full = match_.hits.size() >= options_.most_hits;
    const bool has_best =
        std::all_of(words_.begin(), words_.end(), [&](std::size_t words) { return words == query_.wanted.size(); });
    return (is_full && has_best) || (bytes_ >= kMostBytes && !match_.hits.empty()) || options_.is_over();
  }

  void take(Ordinal ordinal, const std::string& text) {
    const std::string folded_text = folded(text);
    bytes_ += text.size();
    if (!query_.tool.empty() && !calls_tool(folded_text, query_.tool)) {
      return;
    }
    const auto has = [&](const std::string& word) { return folded_text.find(word) != std::string::npos; };
    const auto words = static_cast<std::size_t>(std::count_if(query_.wanted.begin(), query_.wanted.end(), has));
    if (words > 0 || (query_.wanted.empty() && query_.filters_entries())) {
      keep(ordinal, words, text);
    }
  }

  /// Keeps the entries with the most words; of entries with equally many, the first ones.
  void keep(Ordinal ordinal, std::size_t words, const std::string& text) {
    auto& hits = match_.hits;
    if (hits.size() >= options_.most_hits) {
      match_.has_more = true;
      const auto least = std::min_element(words_.rbegin(), words_.rend());
      if (least == words_.rend() || *least >= words) {
        return;
      }
      const auto at = std::distance(words_.begin(), least.base()) - 1;
      words_.erase(words_.begin() + at);
      hits.erase(hits.begin() + at);
    }
    words_.push_back(words);
    hits.push_back({ordinal, "", Entry::kNoTime, excerpt_of(text, query_.wanted, options_.excerpt_characters)});
  }

  void name_hits(const Candidates& candidates) {
    if (candidates.indexed) {
      for (Hit& hit : match_.hits) {
        const IndexedEntry& entry = (*candidates.indexed)[hit.ordinal - 1];
        (hit.stem = names::padded(hit.ordinal) + "-") += entry.name;
        hit.time_ms = entry.time_ms;
      }
      return;
    }
    const auto guard = session_->read();
    const bool has_same_ordinals = guard && guard->generation() == candidates.generation;
    if (!has_same_ordinals) {
      match_.hits.clear();
      match_.has_more = true;
      return;
    }
    for (Hit& hit : match_.hits) {
      if (hit.ordinal <= guard->index().size()) {
        hit.stem = names::entry_stem(guard->index(), hit.ordinal);
        hit.time_ms = guard->index().entry(hit.ordinal).timestamp_ms;
      }
    }
  }

  const SessionPtr& session_;
  const Query& query_;
  const Options& options_;
  Match& match_;
  std::vector<std::size_t> words_;  // of each kept hit
  std::size_t bytes_ = 0;           // that were read
};

}  // namespace

void find_hits(const SessionFindings& findings, const Query& query, const Options& options, const IndexLookup* lookup,
               Match& match) {
  if (query.wanted.empty() && !query.filters_entries()) {
    return;
  }
  const auto& answer = findings.answer;
  const SessionPtr& session = match.shown->session();
  const auto chunks = answer ? lookup->chunks_with_words(*answer) : std::vector<Chunk>();
  const bool may_use_index = answer && !query.filters_entries();
  const Session::Use use(session);
  auto candidates = may_use_index ? indexed_entries(*session, *answer->indexed, chunks) : std::nullopt;
  if (!candidates) {
    auto current = current_entries(session, query, answer ? answer->indexed : nullptr, &chunks, options.cancelled);
    if (!current) {
      match.has_more = true;
      return;
    }
    candidates = std::move(*current);
  }
  HitFinder(session, query, options, match).run(*candidates);
  match.has_more = match.has_more || (answer && lookup->leaves_out_chunks(*answer));
}

}  // namespace arborfs::search
