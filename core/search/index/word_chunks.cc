#include "core/search/index/word_chunks.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/search/index/terms.h"

namespace arborfs::search {

namespace {

/// Each look-up of a term costs some 10 microseconds. Of more terms that have the word, the first are looked up, which
/// are the most frequent ones; all chunks may have the others.
constexpr std::size_t kMostLookups = 512;
/// Each part of a text so long is in one term (kLongestTerm).
constexpr std::size_t kSurePart = kLongestTerm / 2 + 1;

using Terms = std::vector<TermId>;
constexpr std::string_view kBlank = " ";

/// The terms with which a phrase may begin or end. A blank there stands next to a word, or at the edge of a term.
TermsWith terms_at_end(const TermSegment& segment, std::string_view run) {
  if (run != kBlank) {
    return terms_with(segment, run);
  }
  TermsWith found;
  for (TermId id = segment.first; id < segment.next(); ++id) {
    const std::string_view term = segment.at(id);
    if (is_word(term) || term.ends_with(kBlank)) {
      found.end.push_back(id);
    }
    if (is_word(term) || term.starts_with(kBlank)) {
      found.begin.push_back(id);
    }
  }
  return found;
}

class WordFinder {
 public:
  WordFinder(const WordIndex& index, bool needs_all, const IsOver& is_over)
      : connections_(index.connections),
        table_(index.table),
        terms_(index.terms),
        needs_all_(needs_all),
        is_over_(is_over) {}

  Result<WordChunks> find(std::string_view word) {
    if (word.empty() || word == kBlank) {
      found_.may = ChunkSet::all();
      return std::move(found_);
    }
    split(word);
    for (const TermSegment& segment : table_.segments()) {
      RETURN_IF_ERROR(runs_.size() == 1 ? find_part(segment) : find_phrase(segment));
    }
    if (!is_exact_) {
      found_.may.add(found_.has);
      found_.has = ChunkSet();
    }
    return std::move(found_);
  }

 private:
  /// A blank between two words is no term, so it is left out; a blank at an end is kept.
  void split(std::string_view word) {
    while (!word.empty()) {
      const std::string_view run = word.substr(0, end_of_run(word));
      word.remove_prefix(run.size());
      const bool is_end = runs_.empty() || word.empty();
      if (run != kBlank || is_end) {
        runs_.push_back(run);
      }
    }
    if (runs_.front().size() > kSurePart) {
      is_exact_ = false;
      runs_.front().remove_prefix(runs_.front().size() - kSurePart);
    }
    if (runs_.back().size() > kSurePart) {
      is_exact_ = false;
      runs_.back() = runs_.back().substr(0, kSurePart);
    }
  }

  /// Adds the chunks with a term.
  Result<void> look_up(TermId term, ChunkSet& chunks) {
    ASSIGN_OR_RETURN(const std::size_t count, terms_.add(term, table_.last_chunk(), chunks));
    new_chunks_ += count;
    return {};
  }

  /// The chunks that have one of the terms; all if they are too many to be looked up.
  Result<ChunkSet> with_any(const Terms& terms) {
    if (terms.size() > kMostLookups) {
      return ChunkSet::all();
    }
    ChunkSet chunks;
    for (const TermId term : terms) {
      RETURN_IF_ERROR(look_up(term, chunks));
    }
    return chunks;
  }

  /// True if each session surely has the word, so that no other term matters.
  bool is_everywhere() {
    if (needs_all_ || !is_exact_ || new_chunks_ < table_.rows()->size()) {
      return false;
    }
    new_chunks_ = 0;
    const auto has = [&](const Chunk& chunk) { return found_.surely_in(chunk); };
    return std::all_of(table_.rows()->begin(), table_.rows()->end(), [&](const auto& row) {
      const IndexedSession& session = *row.second;
      return session.is_part() || std::any_of(session.chunks.begin(), session.chunks.end(), has);
    });
  }

  Result<void> find_part(const TermSegment& segment) {
    Terms terms = terms_with(segment, runs_.front()).all;
    const std::size_t count = terms.size();
    terms.resize(std::min(count, kMostLookups));
    for (std::size_t i = 0; i < terms.size(); ++i) {
      RETURN_IF_ERROR(look_up(terms[i], found_.has));
      if (i + 1 < count && is_everywhere()) {
        found_.is_partial = true;
        return {};
      }
    }
    if (count > terms.size()) {
      found_.may = ChunkSet::all();
    }
    return {};
  }

  /// The terms between the first and the last; nothing if the segment lacks one.
  [[nodiscard]] std::optional<Terms> middle_in(const TermSegment& segment) const {
    Terms middle;
    for (std::size_t i = 1; i + 1 < runs_.size(); ++i) {
      const TermId term = terms_with(segment, runs_[i]).equal;
      if (term == kBreak) {
        return std::nullopt;
      }
      middle.push_back(term);
    }
    return middle;
  }

  Result<void> find_phrase(const TermSegment& segment) {
    const bool has_long =
        std::any_of(runs_.begin() + 1, runs_.end() - 1, [](std::string_view run) { return run.size() > kLongestTerm; });
    if (has_long) {
      found_.may = ChunkSet::all();
      return {};
    }
    const auto middle = middle_in(segment);
    const TermsWith first = terms_at_end(segment, runs_.front());
    const TermsWith last = terms_at_end(segment, runs_.back());
    if (!middle || first.end.empty() || last.begin.empty()) {
      return {};
    }
    ASSIGN_OR_RETURN(PhraseChunks chunks, chunks_with_terms(first, *middle, last));
    RETURN_IF_ERROR(leave_out_by_pairs(pairs_of(first, *middle, last), chunks));
    return scan_for_phrase(connections_, table_, chunks, PhraseMatcher(segment, first, *middle, last), is_exact_,
                           is_over_, found_);
  }

  /// The chunks that have all terms of a phrase.
  Result<PhraseChunks> chunks_with_terms(const TermsWith& first, const Terms& middle, const TermsWith& last) {
    PhraseChunks chunks;
    ASSIGN_OR_RETURN(const EndChunks beginning, chunks_of_end(first.end, first.equal));
    ASSIGN_OR_RETURN(const EndChunks ending, chunks_of_end(last.begin, last.equal));
    chunks.exact = beginning.exact;
    chunks.exact.keep_only(ending.exact);
    chunks.other = beginning.any;
    chunks.other.keep_only(ending.any);
    ChunkSet has_other = beginning.other;
    has_other.add(ending.other);
    chunks.other.keep_only(has_other);
    for (const TermId term : middle) {
      ChunkSet with;
      RETURN_IF_ERROR(look_up(term, with));
      chunks.exact.keep_only(with);
      chunks.other.keep_only(with);
    }
    return chunks;
  }

  /// Reading the filters of all chunks takes as long as the codes of one chunk in kFilterShare.
  Result<void> leave_out_by_pairs(const PhrasePairsOf& pairs, PhraseChunks& chunks) {
    constexpr std::size_t kFilterShare = 16;
    const bool has_pairs = !pairs.exact.is_empty() || !pairs.other.is_empty();
    const bool are_many = std::max(chunks.exact.count(), chunks.other.count()) > table_.last_chunk() / kFilterShare;
    return has_pairs && are_many ? remove_without_pairs(connections_, table_.last_chunk(), pairs, is_over_, chunks)
                                 : Result<void>();
  }

  static PhrasePairsOf pairs_of(const TermsWith& first, const Terms& middle, const TermsWith& last) {
    PhrasePairsOf pairs;
    const auto need = [&](const Terms& begin, const Terms& end, PhrasePairs& needed) {
      for (std::size_t i = 0; i <= middle.size(); ++i) {
        needed.need(i == 0 ? begin : Terms{middle[i - 1]}, i == middle.size() ? end : Terms{middle[i]});
      }
    };
    need(first.end, last.begin, pairs.other);
    if (first.equal != kBreak && last.equal != kBreak) {
      need({first.equal}, {last.equal}, pairs.exact);
    }
    return pairs;
  }

  /// The chunks with a term at one end of a phrase: with the one that equals the end, with another, and with either.
  struct EndChunks {
    ChunkSet exact;
    ChunkSet other;
    ChunkSet any;
  };
  Result<EndChunks> chunks_of_end(const Terms& terms, TermId equal) {
    EndChunks chunks;
    if (equal != kBreak) {
      RETURN_IF_ERROR(look_up(equal, chunks.exact));
    }
    Terms others;
    std::copy_if(terms.begin(), terms.end(), std::back_inserter(others), [&](TermId term) { return term != equal; });
    ASSIGN_OR_RETURN(chunks.other, with_any(others));
    chunks.any = chunks.exact;
    chunks.any.add(chunks.other);
    return chunks;
  }

  const IndexConnections& connections_;
  const IndexTable& table_;
  TermChunks& terms_;
  bool needs_all_;
  const IsOver& is_over_;
  std::vector<std::string_view> runs_;
  bool is_exact_ = true;
  std::size_t new_chunks_ = 0;  // since is_everywhere() looked
  WordChunks found_;
};

}  // namespace

Result<WordChunks> find_word(const WordIndex& index, std::string_view word, bool needs_all, const IsOver& is_over) {
  return WordFinder(index, needs_all, is_over).find(word);
}

}  // namespace arborfs::search
