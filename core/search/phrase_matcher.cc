#include "core/search/phrase_matcher.h"

#include <cstring>

namespace arborfs::search {

namespace {

bool is_end_of_code(char byte) {
  return static_cast<std::uint8_t>(byte) >= 0x80;
}

/// The first place from `at` on where `wanted`, whole codes, stands as whole codes; npos if there is none.
std::size_t find_codes(std::string_view codes, std::string_view wanted, std::size_t at) {
  while (at < codes.size()) {
    const void* const found = ::memmem(codes.data() + at, codes.size() - at, wanted.data(), wanted.size());
    if (found == nullptr) {
      break;
    }
    at = static_cast<std::size_t>(static_cast<const char*>(found) - codes.data());
    if (at == 0 || is_end_of_code(codes[at - 1])) {
      return at;
    }
    ++at;
  }
  return std::string_view::npos;
}

}  // namespace

PhraseMatcher::TermSet::TermSet(const TermSegment& segment, const std::vector<TermId>& terms)
    : first_(segment.first), has_(segment.count()) {
  for (const TermId term : terms) {
    has_[term - first_] = true;
  }
}

PhraseMatcher::PhraseMatcher(const TermSegment& segment, const TermsWith& first, const std::vector<TermId>& middle,
                             const TermsWith& last)
    : first_(segment, first.end), last_(segment, last.begin) {
  for (const TermId term : middle) {
    append_code(term, middle_);
  }
  if (first.equal != kBreak && last.equal != kBreak) {
    append_code(first.equal, exact_);
    exact_ += middle_;
    append_code(last.equal, exact_);
  }
}

bool PhraseMatcher::is_in(std::string_view codes, bool only_exactly) const {
  if (!middle_.empty()) {
    return has_around_middle(codes);
  }
  const bool is_exactly_in = !exact_.empty() && find_codes(codes, exact_, 0) != std::string_view::npos;
  return is_exactly_in || (!only_exactly && has_pair(codes));
}

bool PhraseMatcher::has_around_middle(std::string_view codes) const {
  for (std::size_t at = find_codes(codes, middle_, 0); at != std::string_view::npos;
       at = find_codes(codes, middle_, at + 1)) {
    if (has_neighbours(codes, at, at + middle_.size())) {
      return true;
    }
  }
  return false;
}

/// True if the terms before and after a part of the codes are the first and the last of the phrase.
bool PhraseMatcher::has_neighbours(std::string_view codes, std::size_t begin, std::size_t end) const {
  const auto last = take_code(codes, end);
  if (begin == 0 || !last || !last_.has(*last)) {
    return false;
  }
  std::size_t before = begin - 1;
  while (before > 0 && !is_end_of_code(codes[before - 1])) {
    --before;
  }
  const auto first = take_code(codes, before);
  return first && first_.has(*first);
}

bool PhraseMatcher::has_pair(std::string_view codes) const {
  bool follows_first = false;
  TermId term = 0;
  for (const char c : codes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte < 0x80) {
      term = (term << 7U | byte) + 1;
      continue;
    }
    term = term << 7U | (byte & 0x7FU);
    if (follows_first && last_.has(term)) {
      return true;
    }
    follows_first = first_.has(term);
    term = 0;
  }
  return false;
}

}  // namespace arborfs::search
