// A phrase as terms of the search index: whether the codes of a chunk have it. Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/search/index/terms.h"

namespace arborfs::search {

/// Codes of terms that follow each other.
class CodeSequence {
 public:
  void add(TermId term);
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  /// The first place in `codes` from `at` on where the sequence begins; npos if there is none.
  [[nodiscard]] std::size_t find_in(std::string_view codes, std::size_t at) const;

 private:
  std::string bytes_;
  TermId rarest_ = 0;
  std::size_t rare_byte_ = 0;  // the place of the last byte of its code
};

class PhraseMatcher {
 public:
  /// A term that ends with the beginning of the phrase (`first`), then `middle`, then one that begins with its end
  /// (`last`).
  PhraseMatcher(const TermSegment& segment, const TermsWith& first, const std::vector<TermId>& middle,
                const TermsWith& last);
  /// `only_exactly`: the codes are known to have no term that only begins or ends like the phrase.
  [[nodiscard]] bool is_in(std::string_view codes, bool only_exactly) const;

 private:
  class TermSet {
   public:
    TermSet(const TermSegment& segment, const std::vector<TermId>& terms);
    [[nodiscard]] bool has(TermId term) const { return term - first_ < has_.size() && has_[term - first_]; }

   private:
    TermId first_;
    std::vector<bool> has_;
  };
  [[nodiscard]] bool has_neighbours(std::string_view codes, std::size_t begin, std::size_t end) const;
  [[nodiscard]] bool has_around_fixed(std::string_view codes) const;
  [[nodiscard]] bool has_pair(std::string_view codes) const;
  TermSet first_;
  TermSet last_;
  bool is_first_fixed_;  // it has one term, which is in fixed_
  bool is_last_fixed_;   // the same
  CodeSequence fixed_;   // terms that the phrase surely has
  CodeSequence exact_;   // the phrase as whole terms; empty if there are no such terms
};

}  // namespace arborfs::search
