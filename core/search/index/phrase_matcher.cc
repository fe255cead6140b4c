#include "core/search/index/phrase_matcher.h"

namespace arborfs::search {

namespace {

bool is_end_of_code(char byte) {
  return static_cast<std::uint8_t>(byte) >= 0x80;
}

}  // namespace

void CodeSequence::add(TermId term) {
  append_code(term, bytes_);
  if (term > rarest_) {  // terms that are frequent tend to be seen early
    rarest_ = term;
    rare_byte_ = bytes_.size() - 1;
  }
}

std::size_t CodeSequence::find_in(std::string_view codes, std::size_t at) const {
  for (std::size_t rare = codes.find(bytes_[rare_byte_], at + rare_byte_); rare != std::string_view::npos;
       rare = codes.find(bytes_[rare_byte_], rare + 1)) {
    const std::size_t begin = rare - rare_byte_;
    const bool is_at_code = begin == 0 || is_end_of_code(codes[begin - 1]);
    if (is_at_code && codes.substr(begin, bytes_.size()) == bytes_) {
      return begin;
    }
  }
  return std::string_view::npos;
}

PhraseMatcher::TermSet::TermSet(const TermSegment& segment, const std::vector<TermId>& terms)
    : first_(segment.first), has_(segment.count()) {
  for (const TermId term : terms) {
    has_[term - first_] = true;
  }
}

PhraseMatcher::PhraseMatcher(const TermSegment& segment, const TermsWith& first, const std::vector<TermId>& middle,
                             const TermsWith& last)
    : first_(segment, first.end),
      last_(segment, last.begin),
      is_first_fixed_(first.end.size() == 1),
      is_last_fixed_(last.begin.size() == 1) {
  if (is_first_fixed_) {
    fixed_.add(first.end.front());
  }
  for (const TermId term : middle) {
    fixed_.add(term);
  }
  if (is_last_fixed_) {
    fixed_.add(last.begin.front());
  }
  if (first.equal != kBreak && last.equal != kBreak) {
    exact_.add(first.equal);
    for (const TermId term : middle) {
      exact_.add(term);
    }
    exact_.add(last.equal);
  }
}

bool PhraseMatcher::is_in(std::string_view codes, bool only_exactly) const {
  if (only_exactly) {
    return !exact_.is_empty() && exact_.find_in(codes, 0) != std::string_view::npos;
  }
  return fixed_.is_empty() ? has_pair(codes) : has_around_fixed(codes);
}

bool PhraseMatcher::has_around_fixed(std::string_view codes) const {
  for (std::size_t at = fixed_.find_in(codes, 0); at != std::string_view::npos; at = fixed_.find_in(codes, at + 1)) {
    if (has_neighbours(codes, at, at + fixed_.size())) {
      return true;
    }
  }
  return false;
}

/// True if the terms before and after a part of the codes, as far as they are not in it, are the first and the last of
/// the phrase.
bool PhraseMatcher::has_neighbours(std::string_view codes, std::size_t begin, std::size_t end) const {
  if (!is_last_fixed_) {
    const auto last = take_code(codes, end);
    if (!last || !last_.has(*last)) {
      return false;
    }
  }
  if (is_first_fixed_) {
    return true;
  }
  if (begin == 0) {
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
