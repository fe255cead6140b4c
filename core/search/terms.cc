#include "core/search/terms.h"

#include <algorithm>
#include <functional>

#include "core/sqlite/fixed_width_tokenizer.h"

namespace arborfs::search {

namespace {

constexpr std::uint32_t kBase = 255;  // no byte of a token is NUL

bool is_word_byte(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' || byte >= 0x80 ||
         (byte >= 'A' && byte <= 'Z');
}

constexpr std::size_t kMostPairs = 256;  // of which one is needed

/// Spreads pairs evenly: the upper bits of a product depend on all bits of both terms.
std::uint16_t bit_of(TermId first, TermId second) {
  static_assert(kPairFilterBytes * 8 == std::size_t{1} << 12U);
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const std::uint64_t pair = std::uint64_t{first} << 32U | second;
  return static_cast<std::uint16_t>((pair ^ pair >> 29U) * kGoldenRatio >> (64U - 12U));
}

}  // namespace

bool is_word(std::string_view run) {
  return !run.empty() && is_word_byte(run.front());
}

std::size_t end_of_run(std::string_view text) {
  const bool word = is_word_byte(text.front());
  std::size_t end = 1;
  while (end < text.size() && is_word_byte(text[end]) == word) {
    ++end;
  }
  return end;
}

void append_token(TermId term, std::string& out) {
  static_assert(sqlite::kTokenBytes == 3);
  for (const std::uint32_t divisor : {kBase * kBase, kBase, 1U}) {
    out.push_back(static_cast<char>(term / divisor % kBase + 1));
  }
}

void append_code(TermId term, std::string& out) {
  char bytes[4];
  std::size_t at = sizeof bytes;
  bytes[--at] = static_cast<char>(0x80U | (term & 0x7FU));
  for (term >>= 7U; term != 0; term >>= 7U) {
    bytes[--at] = static_cast<char>(--term & 0x7FU);
  }
  out.append(bytes + at, sizeof bytes - at);
}

std::string pair_filter_of(const std::vector<TermId>& terms) {
  std::string filter(kPairFilterBytes, '\0');
  for (std::size_t i = 1; i < terms.size(); ++i) {
    if (terms[i - 1] != kBreak && terms[i] != kBreak) {
      const std::uint16_t bit = bit_of(terms[i - 1], terms[i]);
      filter[bit / 8U] = static_cast<char>(static_cast<std::uint8_t>(filter[bit / 8U]) | 1U << (bit & 7U));
    }
  }
  return filter;
}

void PhrasePairs::need(const std::vector<TermId>& first, const std::vector<TermId>& second) {
  if (second.size() > kMostPairs / first.size()) {
    return;
  }
  auto& bits = needed_.emplace_back();
  for (const TermId before : first) {
    for (const TermId after : second) {
      bits.push_back(bit_of(before, after));
    }
  }
}

bool PhrasePairs::may_be_in(std::string_view filter) const {
  const auto is_set = [&](std::uint16_t bit) {
    return (static_cast<std::uint8_t>(filter[bit / 8U]) >> (bit & 7U) & 1U) != 0;
  };
  return std::all_of(needed_.begin(), needed_.end(),
                     [&](const auto& bits) { return std::any_of(bits.begin(), bits.end(), is_set); });
}

std::string_view TermSegment::at(TermId id) const {
  const std::size_t place = id - first;
  const std::uint32_t begin = place == 0 ? 0 : ends[place - 1];
  return std::string_view(bytes).substr(begin, ends[place] - begin);
}

void TermSegment::add(std::string_view term) {
  bytes += term;
  ends.push_back(static_cast<std::uint32_t>(bytes.size()));
}

/// Of each term: its length in one byte, and its bytes.
std::string packed_terms(const TermSegment& terms, TermId from, TermId until) {
  std::string out;
  for (TermId id = from; id < until; ++id) {
    const std::string_view term = terms.at(id);
    out.push_back(static_cast<char>(term.size()));
    out += term;
  }
  return out;
}

bool unpack_terms(std::string_view bytes, TermSegment& terms) {
  while (!bytes.empty()) {
    const auto size = static_cast<std::uint8_t>(bytes.front());
    if (size == 0 || size > kLongestTerm || size >= bytes.size()) {
      return false;
    }
    terms.add(bytes.substr(1, size));
    bytes.remove_prefix(1U + size);
  }
  return true;
}

TermsWith terms_with(const TermSegment& terms, std::string_view word) {
  TermsWith found;
  const std::string_view bytes = terms.bytes;
  std::size_t place = 0;
  for (std::size_t at = bytes.find(word); at != std::string_view::npos;) {
    place = static_cast<std::size_t>(
        std::upper_bound(terms.ends.begin() + static_cast<std::ptrdiff_t>(place), terms.ends.end(), at) -
        terms.ends.begin());
    const std::size_t begin = place == 0 ? 0 : terms.ends[place - 1];
    const std::size_t end = terms.ends[place];
    if (at + word.size() > end) {  // it spans two terms
      at = bytes.find(word, at + 1);
      continue;
    }
    const TermId id = terms.first + static_cast<TermId>(place);
    found.all.push_back(id);
    const std::string_view term = bytes.substr(begin, end - begin);
    if (term.starts_with(word)) {
      found.begin.push_back(id);
    }
    if (term.ends_with(word)) {
      found.end.push_back(id);
    }
    found.equal = term == word ? id : found.equal;
    at = bytes.find(word, end);
  }
  return found;
}

std::size_t TermIds::slot_of(std::string_view term) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>()(term) & mask;
  while (slots_[slot] != kBreak && terms_.at(slots_[slot]) != term) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void TermIds::insert(TermId id) {
  if ((known_ + 1) * 3 > slots_.size() * 2) {
    slots_.assign(std::max<std::size_t>(1024, slots_.size() * 2), kBreak);
    const std::size_t before = known_;
    for (std::size_t i = 0; i < before; ++i) {
      const TermId one = terms_.first + static_cast<TermId>(i);
      slots_[slot_of(terms_.at(one))] = one;
    }
  }
  slots_[slot_of(terms_.at(id))] = id;
  ++known_;
}

void TermIds::begin(const TermSegment& stored) {
  const bool has_only_stored = terms_.first == stored.first && terms_.count() <= stored.count() &&
                               std::equal(terms_.ends.begin(), terms_.ends.end(), stored.ends.begin()) &&
                               std::string_view(stored.bytes).starts_with(terms_.bytes);
  if (!has_only_stored) {
    known_ = 0;
    slots_.clear();
  }
  terms_ = stored;
  while (known_ < terms_.count()) {
    insert(terms_.first + static_cast<TermId>(known_));
  }
}

TermId TermIds::id_of(std::string_view term) {
  if (!slots_.empty()) {
    if (const TermId known = slots_[slot_of(term)]; known != kBreak) {
      return known;
    }
  }
  terms_.add(term);
  const TermId id = terms_.next() - 1;
  insert(id);
  return id;
}

}  // namespace arborfs::search
