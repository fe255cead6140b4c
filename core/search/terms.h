// The terms of a text: its words (letters, digits, '_' and all characters beyond ASCII) and what stands between them.
// One blank between two words is no term, so that terms that follow each other spell the text. Pure functions and
// values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::search {

/// A longer run of characters is cut into pieces of this length. Pieces overlap by half, so that each part of up to
/// half the length is in a piece. kBreak stands between pieces.
inline constexpr std::size_t kLongestTerm = 64;

using TermId = std::uint32_t;
/// No term: what stands before it and after it does not touch.
inline constexpr TermId kBreak = 0;
inline constexpr TermId kMostTerms = 255 * 255 * 255;

/// The end of the run of characters of one kind at the beginning of `text`, which is not empty.
std::size_t end_of_run(std::string_view text);
bool is_word(std::string_view run);

/// Calls `take` with each term of a folded text, and with "" for a break.
template <class Take>
void each_term(std::string_view folded, const Take& take) {
  bool follows_word = false;
  while (!folded.empty()) {
    std::string_view run = folded.substr(0, end_of_run(folded));
    folded.remove_prefix(run.size());
    const bool is_joint = run == " " && follows_word && !folded.empty();
    follows_word = is_word(run);
    for (; run.size() > kLongestTerm; run.remove_prefix(std::min(kLongestTerm / 2, run.size() - kLongestTerm))) {
      take(run.substr(0, kLongestTerm));
      take(std::string_view());
    }
    if (!is_joint) {
      take(run);
    }
  }
}

/// Appends the token of a term: what the full-text index has of it.
void append_token(TermId term, std::string& out);
/// Appends the code of a term: 1 to 4 bytes, of which only the last is above 127, fewer for a smaller number.
void append_code(TermId term, std::string& out);
/// The term whose code begins at `at`, which becomes the end of the code; nothing for damaged bytes.
inline std::optional<TermId> take_code(std::string_view codes, std::size_t& at) {
  TermId term = 0;
  for (const std::size_t end = std::min(codes.size(), at + 4); at < end;) {
    const auto byte = static_cast<std::uint8_t>(codes[at++]);
    if (byte >= 0x80) {
      return term << 7U | (byte & 0x7FU);
    }
    term = (term << 7U | byte) + 1;
  }
  return std::nullopt;
}

/// A chunk of kChunkBytes of text has some 2,000 different pairs of terms that follow each other, which set two bits in
/// five.
inline constexpr std::size_t kPairFilterBytes = 512;

/// Which terms follow each other in a chunk, in a few bytes: one bit for each pair, which several pairs may share.
std::string pair_filter_of(const std::vector<TermId>& terms);

/// The pairs of a phrase, to tell without reading the codes of a chunk that it lacks the phrase.
class PhrasePairs {
 public:
  /// A chunk needs some pair of `first` and `second`, which are not empty. Too many pairs tell nothing and are left
  /// out.
  void need(const std::vector<TermId>& first, const std::vector<TermId>& second);
  [[nodiscard]] bool is_empty() const { return needed_.empty(); }
  /// False if the chunk with this filter, of kPairFilterBytes, surely lacks a pair that it needs.
  [[nodiscard]] bool may_be_in(std::string_view filter) const;

 private:
  std::vector<std::vector<std::uint16_t>> needed_;  // of each, one bit
};

/// Terms with consecutive ids. The chunks of a segment have no other terms.
struct TermSegment {
  TermId first = 1;
  std::string bytes;                // of all terms
  std::vector<std::uint32_t> ends;  // of each in `bytes`
  [[nodiscard]] std::size_t count() const { return ends.size(); }
  [[nodiscard]] TermId next() const { return first + static_cast<TermId>(ends.size()); }
  [[nodiscard]] std::string_view at(TermId id) const;
  void add(std::string_view term);
};

/// The terms from `from` to the one before `until`, as the database has them.
std::string packed_terms(const TermSegment& terms, TermId from, TermId until);
/// Adds packed terms; false for damaged bytes.
bool unpack_terms(std::string_view bytes, TermSegment& terms);

/// The terms that contain a word, in ascending order, in each way that matters.
struct TermsWith {
  std::vector<TermId> all;    // contain it
  std::vector<TermId> begin;  // begin with it
  std::vector<TermId> end;    // end with it
  TermId equal = kBreak;
};
TermsWith terms_with(const TermSegment& terms, std::string_view word);

/// Gives terms their ids: those of a segment, and new ones after them. Used by one thread.
class TermIds {
 public:
  /// Follows a segment that may have grown by terms of other processes; new terms that were not stored are forgotten.
  void begin(const TermSegment& stored);
  TermId id_of(std::string_view term);
  /// The stored terms and the new ones.
  [[nodiscard]] const TermSegment& terms() const { return terms_; }

 private:
  void insert(TermId id);
  [[nodiscard]] std::size_t slot_of(std::string_view term) const;
  TermSegment terms_;
  std::size_t known_ = 0;      // terms in slots_
  std::vector<TermId> slots_;  // by the hash of the term; kBreak if free
};

}  // namespace arborfs::search
