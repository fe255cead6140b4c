#include "core/redact/ledger.h"

#include <algorithm>

#include "core/json/text_bytes.h"
#include "core/redact/matcher.h"

namespace arborfs::redact {
namespace {

constexpr const char* kUnscanned = "unscanned";

/// True if the text is no word, nor words with hyphens between them: letters of both cases, digits or signs.
bool is_unlike_words(std::string_view text) {
  const bool has_digit = std::any_of(text.begin(), text.end(), json::is_digit);
  const bool has_lower = std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  const bool has_upper = std::any_of(text.begin() + 1, text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool has_sign = std::any_of(text.begin(), text.end(),
                                    [](char c) { return !json::is_word(c) && c != '-' && c != '.' && c != ' '; });
  return int{has_digit} + int{has_lower} + int{has_upper} + int{has_sign} >= 2;
}

}  // namespace

const std::string* Ledger::learn(std::string_view secret, std::string_view rule) {
  const std::lock_guard lock(mutex_);
  const auto known = secrets_.find(secret);
  if (known != secrets_.end()) {
    return &known->first;
  }
  return secrets_.size() >= kMostSecrets
             ? nullptr
             : &secrets_.try_emplace(std::string(secret), Secret{std::string(rule), 0}).first->first;
}

void KnownSecrets::add(const std::string& secret) {
  if (secret.size() < kShortest || !is_unlike_words(secret)) {
    return;
  }
  const std::uint64_t start = start_of(secret.data());
  const std::unique_lock lock(mutex_);
  const auto [first, last] = by_start_.equal_range(start);
  if (std::none_of(first, last, [&](const auto& known) { return known.second == &secret; })) {
    by_start_.emplace(start, &secret);
    starts_[bit_of(start) / 64] |= std::uint64_t{1} << bit_of(start) % 64;
  }
}

bool KnownSecrets::is_empty() const {
  const std::shared_lock lock(mutex_);
  return by_start_.empty();
}

void KnownSecrets::find(std::string_view text, const std::function<void(Span)>& visit) const {
  const std::shared_lock lock(mutex_);
  if (by_start_.empty()) {
    return;
  }
  for (std::size_t at = 0; at + kShortest <= text.size(); ++at) {
    const std::uint64_t start = start_of(text.data() + at);
    const std::size_t bit = bit_of(start);
    if ((starts_[bit / 64] >> bit % 64 & 1U) == 0) [[likely]] {
      continue;
    }
    std::size_t longest = 0;
    const auto [first, last] = by_start_.equal_range(start);
    for (auto known = first; known != last; ++known) {
      if (text.substr(at).starts_with(*known->second)) {
        longest = std::max(longest, known->second->size());
      }
    }
    if (longest > 0) {
      visit({at, at + longest});
      at += longest - 1;
    }
  }
}

std::string Ledger::label(std::string_view secret) {
  const std::lock_guard lock(mutex_);
  const auto found = secrets_.find(secret);
  if (found == secrets_.end()) {
    return std::string(kLabelStart) + "secret]";
  }
  if (found->second.number == 0) {
    found->second.number = ++numbers_[found->second.rule];
    ++counts_[found->second.rule].secrets;
  }
  return std::string(kLabelStart) + found->second.rule + "#" + std::to_string(found->second.number) + "]";
}

void Ledger::add_count(std::string_view rule, std::string_view place) {
  const std::lock_guard lock(mutex_);
  auto count = counts_.find(rule);
  count = count == counts_.end() ? counts_.try_emplace(std::string(rule)).first : count;
  ++count->second.count;
  auto& places = count->second.places;
  if (const auto known = places.find(place); known != places.end()) {
    ++known->second;
  } else if (!place.empty() && places.size() < Redactor::kMostPlaces) {
    places.emplace(place, 1);
  }
}

void Ledger::count(std::string_view label, std::string_view place) {
  const std::string_view name = label.substr(kLabelStart.size());
  add_count(name.substr(0, name.find_first_of("#]")), place);
}

void Ledger::count_unscanned(std::string_view place) {
  add_count(kUnscanned, place);
}

std::vector<Taken> Ledger::taken() const {
  const std::lock_guard lock(mutex_);
  std::vector<Taken> taken;
  for (const auto& [rule, count] : counts_) {
    Taken& one = taken.emplace_back(Taken{rule, count.count, count.secrets, {}});
    for (const auto& [place, times] : count.places) {
      one.places.push_back({place, times});
    }
  }
  return taken;
}

}  // namespace arborfs::redact
