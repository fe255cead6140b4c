#include "core/search/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/base/wanted.h"
#include "core/entry/names.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/utf8.h"
#include "core/search/query.h"
#include "core/search/search_index.h"
#include "core/search/touched.h"

namespace arborfs::search {

namespace {

/// That a session matches, and how well.
struct SessionFindings {
  std::vector<double> counts;           // of each wanted word: about how many chunks (kChunkBytes) have it
  double length = 0;                    // of the session's texts, in chunks
  std::optional<IndexedAnswer> answer;  // of the search index
};

/// An entry, copied so that no lock is held while its text is read.
struct Candidate {
  Ordinal ordinal = kNoEntry;
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// The entries of one session that a search reads.
struct Candidates {
  std::shared_ptr<const LogSource> log;
  std::vector<Candidate> entries;
  std::shared_ptr<const std::vector<IndexedEntry>>
      indexed;  // all entries of the session, with names in its IndexedSession; null without the search index
  std::uint32_t generation = 0;  // Session::Guard::generation, without the search index
};

/// `wanted` is a role, or the agent's own word for one, folded.
bool is_role(const LogIndex& index, Ordinal ordinal, const std::string& wanted) {
  return folded(index.role(ordinal)) == wanted || folded(index.name(ordinal)) == wanted;
}

bool passes(const LogIndex& index, Ordinal ordinal, const Query& query) {
  const std::int64_t time = index.entry(ordinal).timestamp_ms;
  if ((query.after_ms || query.before_ms) && time == Entry::kNoTime) {
    return false;
  }
  return (query.role.empty() || is_role(index, ordinal, folded(query.role))) &&
         (!query.after_ms || time >= *query.after_ms) && (!query.before_ms || time < *query.before_ms);
}

std::vector<Ordinal> labelled(const LogIndex& index, const std::string& label) {
  std::vector<Ordinal> entries;
  for (const Label& one : index.labels()) {
    if (one.text == label) {
      entries.push_back(index.find(one.target));
    }
  }
  return entries;
}

bool is_in(const std::vector<Chunk>& chunks, Ordinal entry) {
  return std::any_of(chunks.begin(), chunks.end(),
                     [&](const Chunk& chunk) { return chunk.first <= entry && entry <= chunk.last; });
}

/// The entries of the session's current state that pass the query's filters, in their order. `chunks`, if not null, are
/// those of `indexed` to read: entries in others are left out if the session still is as it was indexed. Errors: those
/// of reading the log.
Result<Candidates> current_entries(const SessionPtr& session, const Query& query, const IndexedSession* indexed,
                                   const std::vector<Chunk>* chunks) {
  const Session::Use use(session);
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  const LogIndex& index = guard.index();
  const bool is_indexed = indexed != nullptr && is_state_of(*indexed, guard.stat()) && indexed->count() == index.size();
  const auto chosen = query.label.empty() ? std::vector<Ordinal>() : labelled(index, query.label);
  Candidates found{guard.log(), {}, nullptr, guard.generation()};
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    const bool has_label = query.label.empty() || std::find(chosen.begin(), chosen.end(), ordinal) != chosen.end();
    if (has_label && passes(index, ordinal, query) && (!is_indexed || is_in(*chunks, ordinal))) {
      const Entry& entry = index.entry(ordinal);
      found.entries.push_back({ordinal, entry.type, entry.offset, index.length(ordinal)});
    }
  }
  return found;
}

/// The entries of the chunks, in the order of these, without the index of the log. Nothing if the session is not as it
/// was indexed any more.
std::optional<Candidates> indexed_entries(const Session& session, const IndexedSession& indexed,
                                          const std::vector<Chunk>& chunks) {
  auto log = session.store().open(session.place());
  auto entries = indexed.entries();
  if (!log || !entries || !is_state_of(indexed, (*log)->opened())) {
    return std::nullopt;
  }
  Candidates found{std::move(*log), {}, std::make_shared<const std::vector<IndexedEntry>>(std::move(*entries))};
  for (const Chunk& chunk : chunks) {
    for (Ordinal ordinal = chunk.first; ordinal <= chunk.last; ++ordinal) {
      const IndexedEntry& entry = (*found.indexed)[ordinal - 1];
      found.entries.push_back({ordinal, entry.type, entry.offset, entry.length});
    }
  }
  return found;
}

/// Errors: stale, io.
Result<std::string> read_candidate(const Session& session, const Candidates& candidates, const Candidate& one) {
  return read_text(*session.format().renderer, *candidates.log, one.type, one.offset, one.length);
}

/// True if the folded text has a code block whose first line is the tool's name: how a text shows a tool call.
bool calls_tool(std::string_view text, std::string_view tool) {
  for (std::size_t at = text.find("```"); at != std::string_view::npos; at = text.find("```", at + 1)) {
    const std::size_t line = text.find('\n', at);
    if (line == std::string_view::npos) {
      return false;
    }
    const std::string_view rest = text.substr(line + 1);
    if (rest.starts_with(tool) && (rest.size() == tool.size() || rest[tool.size()] == '\n')) {
      return true;
    }
  }
  return false;
}

/// A log was looked at this lately: its session is taken to be as it was then.
constexpr std::chrono::milliseconds kJustLooked{500};

/// The session's state, at most kJustLooked old.
std::optional<FileStat> state_of(Session& session) {
  const auto since = std::chrono::steady_clock::now() - kJustLooked;
  if (!session.is_known_since(since, Depth::head) && !session.refresh(Depth::head)) {
    return std::nullopt;
  }
  return session.stat();
}

/// Reads texts of a session until it is known whether it matches.
class SessionReader {
 public:
  SessionReader(const SessionPtr& session, const Query& query, const Options& options,
                const std::optional<IndexedAnswer>& answer)
      : session_(session), query_(query), options_(options), has_(query.wanted.size()), blocks_(has_.size()) {
    for (std::size_t i = 0; answer && !query.filters_entries() && i < has_.size(); ++i) {
      has_[i] = answer->counts[i] > 0;
    }
  }

  /// True if the session matches.
  Result<bool> run(const Candidates& candidates) {
    const bool reads_all = !query_.unwanted.empty();
    for (const Candidate& one : candidates.entries) {
      if (!reads_all && is_match()) {
        break;
      }
      if (options_.is_over()) {
        return search_is_over();
      }
      ASSIGN_OR_RETURN(const auto text, read_candidate(*session_, candidates, one));
      ++read_;
      if (!take(folded(text))) {
        return false;
      }
    }
    return is_match();
  }

  /// What was counted, as it would be for the whole session.
  void estimate(const Candidates& candidates, SessionFindings& findings) const {
    const double share = read_ == 0 ? 1 : static_cast<double>(candidates.entries.size()) / static_cast<double>(read_);
    for (const std::uint64_t blocks : blocks_) {
      findings.counts.push_back(static_cast<double>(blocks) * share);
    }
    findings.length = static_cast<double>(bytes_) / kChunkBytes * share;
  }

 private:
  /// False if the text has an unwanted word.
  bool take(const std::string& text) {
    const auto has = [&](const std::string& word) { return text.find(word) != std::string::npos; };
    if (std::any_of(query_.unwanted.begin(), query_.unwanted.end(), has)) {
      return false;
    }
    if (!query_.tool.empty() && !calls_tool(text, query_.tool)) {
      return true;
    }
    has_entry_ = true;
    const std::size_t block = 1 + bytes_ / kChunkBytes;
    bytes_ += text.size();
    for (std::size_t i = 0; i < has_.size(); ++i) {
      if (last_block_.size() < has_.size()) {
        last_block_.resize(has_.size());
      }
      if (last_block_[i] != block && has(query_.wanted[i])) {
        has_[i] = true;
        last_block_[i] = block;
        ++blocks_[i];
      }
    }
    return true;
  }

  [[nodiscard]] bool is_match() const {
    const bool has_all = std::all_of(has_.begin(), has_.end(), [](bool one) { return one; });
    return has_all && (has_entry_ || !query_.filters_entries());
  }

  const SessionPtr& session_;
  const Query& query_;
  const Options& options_;
  std::vector<bool> has_;                // each wanted word
  std::vector<std::uint64_t> blocks_;    // that have each wanted word
  std::vector<std::size_t> last_block_;  // that has it
  std::size_t bytes_ = 0;
  std::size_t read_ = 0;
  bool has_entry_ = false;
};

/// What was counted, as far as the index knows it.
void take_counts(IndexedAnswer& answer, SessionFindings& findings) {
  findings.counts = std::move(answer.counts);
  for (double& count : findings.counts) {
    count = std::max(count, 1.0);
  }
  findings.length = static_cast<double>(answer.indexed->text_bytes) / kChunkBytes;
}

/// The texts that may tell whether the session matches.
Result<Candidates> candidates_for(const SessionPtr& session, const Query& query, const IndexLookup* lookup,
                                  std::optional<IndexedAnswer>& answer) {
  if (!answer) {
    return current_entries(session, query, nullptr, nullptr);
  }
  const auto chunks = lookup->chunks_to_check(*answer);
  if (query.filters_entries()) {
    return current_entries(session, query, answer->indexed, &chunks);
  }
  if (auto found = indexed_entries(*session, *answer->indexed, chunks)) {
    return std::move(*found);
  }
  answer.reset();
  return current_entries(session, query, nullptr, nullptr);
}

/// Nothing if the session does not match. The index answers for a session that is as it was indexed; else texts are
/// read until the answer is known. `lookup` may be null. Errors: those of reading the log; interrupted.
Result<std::optional<SessionFindings>> search_session(const SessionPtr& session, const Query& query,
                                                      const Options& options, const IndexLookup* lookup) {
  SessionFindings findings;
  if (query.wanted.empty() && query.unwanted.empty() && !query.filters_entries()) {
    return std::optional(std::move(findings));
  }
  if (lookup != nullptr) {
    const auto state = state_of(*session);
    findings.answer = state ? lookup->answer_for(*session, *state) : std::nullopt;
  }
  auto& answer = findings.answer;
  if (answer && !answer->may_match) {
    return std::optional<SessionFindings>();
  }
  if (answer && answer->is_sure() && !query.filters_entries()) {
    take_counts(*answer, findings);
    return std::optional(std::move(findings));
  }
  ASSIGN_OR_RETURN(const Candidates candidates, candidates_for(session, query, lookup, answer));
  SessionReader reader(session, query, options, answer);
  ASSIGN_OR_RETURN(const bool is_match, reader.run(candidates));
  if (!is_match) {
    return std::optional<SessionFindings>();
  }
  if (answer) {
    take_counts(*answer, findings);
  } else {
    reader.estimate(candidates, findings);
  }
  return std::optional(std::move(findings));
}

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
    return (is_full && has_best && match_.has_more) || (bytes_ >= kMostBytes && !match_.hits.empty()) ||
           options_.is_over();
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
    hits.push_back({ordinal, "", Entry::kNoTime, excerpt_of(text, query_.wanted, options_.excerpt_columns)});
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

/// Adds the entries of the session of `match` that match, those with the most words first among equals in their order:
/// at most Options::most_hits. It reads no more than it needs for that, and of a long session only a part.
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
    auto current = current_entries(session, query, answer ? answer->indexed : nullptr, &chunks);
    if (!current) {
      match.has_more = true;
      return;
    }
    candidates = std::move(*current);
  }
  HitFinder(session, query, options, match).run(*candidates);
  match.has_more = match.has_more || (answer && lookup->leaves_out_chunks(*answer));
}

/// The sessions that pass the filters on sessions, most recently changed first.
std::vector<const ShownAt*> chosen_sessions(const Catalog& catalog, const CatalogView& view, const Query& query,
                                            const Hanging& left_out) {
  std::vector<std::pair<std::int64_t, const ShownAt*>> chosen;
  chosen.reserve(view.shown.size());
  NotesOfAgents notes(catalog.notes());
  for (const ShownAt* shown : view.shown) {
    const Project& project = *shown->project;
    const Session& session = *shown->session();
    const bool fits =
        query.project.empty() || project.cwd == query.project || names::is_in_project_name(query.project, project.name);
    const bool is_of_agent = query.agent.empty() || session.agent() == query.agent;
    const bool has_title = query.title.empty() || folded(session.title()).find(query.title) != std::string::npos;
    const bool has_tag = query.tag.empty() || notes.has_tag(session, query.tag);
    if (fits && is_of_agent && has_title && has_tag && !catalog.is_in(session, left_out)) {
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

/// Those of the sessions that touched the file of the query. What the index does not know of is read, unless no text of
/// it has the file's name.
std::vector<const ShownAt*> touching(const CatalogView& view, const std::vector<const ShownAt*>& sessions,
                                     const Query& query, const Options& options, std::atomic<std::size_t>& unreadable) {
  const PathFilter filter(query.path);
  const auto known = options.index != nullptr ? options.index->look_up(filter, view) : nullptr;
  enum class Has : std::uint8_t { unknown, no, yes };
  std::vector<Has> all(sessions.size(), Has::unknown);
  const auto set = [&](std::size_t i, bool has) { all[i] = has ? Has::yes : Has::no; };
  if (known != nullptr) {
    parallel_for(sessions.size(), [&](std::size_t i) {
      // By the state that the catalog knows, which is at most a second old: no log needs a stat.
      const SessionPtr& session = sessions[i]->session();
      if (const auto has = known->has_touched(*session, session->stat())) {
        set(i, *has);
      }
    });
  }
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == Has::unknown) {
      unknown.push_back(i);
    }
  }
  Query named;
  named.wanted.push_back(filter.word());
  const bool can_look_up = options.index != nullptr && !filter.word().empty() && !unknown.empty();
  const auto words = can_look_up ? options.index->look_up(named, options.is_over) : nullptr;
  const auto may_touch = [&](Session& session) {
    if (words == nullptr || filter.may_fit_in(session.head().header.cwd)) {
      return true;
    }
    const auto state = state_of(session);
    const auto answer = state ? words->answer_for(session, *state) : std::nullopt;
    return !answer || answer->may_match;
  };
  parallel_for(unknown.size(), [&](std::size_t at) {
    const std::size_t i = unknown[at];
    const SessionPtr& session = sessions[i]->session();
    if (!options.is_over() && may_touch(*session)) {
      const auto found = has_touched(session, filter);
      unreadable += found ? 0 : 1;
      set(i, found && *found);
    }
  });
  std::vector<const ShownAt*> touched;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (all[i] == Has::yes) {
      touched.push_back(sessions[i]);
    }
  }
  return touched;
}

}  // namespace

Result<Found> search(const Catalog& catalog, const Query& query, const Options& options) {
  const auto view = catalog.view();
  auto sessions = chosen_sessions(catalog, *view, query, options.left_out);
  const auto wanted = Wanted::here();
  std::atomic<bool> unwanted{false};
  Looks looks;
  Options here = options;
  here.is_over = [&] {
    if (looks.is_due() && !wanted()) {
      unwanted = true;
    }
    return unwanted.load(std::memory_order_relaxed) || Cancellation::is_requested();
  };
  std::atomic<std::size_t> unreadable{0};
  if (!query.path.empty()) {
    sessions = touching(*view, sessions, query, here, unreadable);
  }
  const auto lookup = options.index != nullptr ? options.index->look_up(query, here.is_over) : nullptr;
  Findings found(sessions.size());
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

}  // namespace arborfs::search
