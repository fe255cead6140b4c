#include "core/search/session_search.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/result_macros.h"
#include "core/search/candidates.h"
#include "core/search/query/fold.h"

namespace arborfs::search {

namespace {

/// A log was looked at this lately: its session is taken to be as it was then.
constexpr std::chrono::milliseconds kJustLooked{500};

/// The session's state, at most kJustLooked old.
std::optional<FileStat> state_of(Session& session, const std::atomic<bool>* cancelled) {
  const auto since = std::chrono::steady_clock::now() - kJustLooked;
  if (!session.is_known_since(since, Depth::head) && !session.refresh(Depth::head, cancelled)) {
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
Result<Candidates> candidates_for(const SessionPtr& session, const Query& query, const Options& options,
                                  const IndexLookup* lookup, std::optional<IndexedAnswer>& answer) {
  if (!answer) {
    return current_entries(session, query, nullptr, nullptr, options.cancelled);
  }
  const auto chunks = lookup->chunks_to_check(*answer);
  if (query.filters_entries()) {
    return current_entries(session, query, answer->indexed, &chunks, options.cancelled);
  }
  if (auto found = indexed_entries(*session, *answer->indexed, chunks)) {
    return std::move(*found);
  }
  answer.reset();
  return current_entries(session, query, nullptr, nullptr, options.cancelled);
}

}  // namespace

Result<std::optional<SessionFindings>> search_session(const SessionPtr& session, const Query& query,
                                                      const Options& options, const IndexLookup* lookup) {
  SessionFindings findings;
  if (query.wanted.empty() && query.unwanted.empty() && !query.filters_entries()) {
    return std::optional(std::move(findings));
  }
  if (lookup != nullptr) {
    const auto state = state_of(*session, options.cancelled);
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
  ASSIGN_OR_RETURN(const Candidates candidates, candidates_for(session, query, options, lookup, answer));
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

}  // namespace arborfs::search
