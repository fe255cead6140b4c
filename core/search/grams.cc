#include "core/search/grams.h"

#include <algorithm>
#include <cstring>

#include "core/sqlite/gram_tokenizer.h"

namespace arborfs::search {

namespace {

constexpr std::size_t kWindow = 4;
constexpr std::size_t kBytes = sqlite::kGramBytes;
/// More numbers would tell more texts apart, but each takes space in the index.
constexpr unsigned kBits = 20;
constexpr std::uint32_t kBase = 255;

std::uint32_t gram_of(std::uint32_t window) {
  return window * 2654435761U >> (32 - kBits);
}

void append_gram(std::uint32_t gram, std::string& out) {
  for (std::uint32_t divisor : {kBase * kBase, kBase, 1U}) {
    out.push_back(static_cast<char>(gram / divisor % kBase + 1));
  }
}

/// Calls `take` with the gram of each window.
template <class Take>
void each_gram(std::string_view folded, const Take& take) {
  std::uint32_t window = 0;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    window = window << 8U | static_cast<std::uint8_t>(folded[i]);
    if (i + 1 >= kWindow) {
      take(gram_of(window));
    }
  }
}

}  // namespace

GramSet::GramSet() : has_(std::size_t{1} << kBits) {}

void GramSet::add(std::string_view folded) {
  each_gram(folded, [&](std::uint32_t gram) {
    if (!has_[gram]) {
      has_[gram] = true;
      found_.push_back(gram);
    }
  });
}

std::string GramSet::take() {
  std::string out;
  out.reserve(found_.size() * kBytes);
  for (const std::uint32_t gram : found_) {
    has_[gram] = false;
    append_gram(gram, out);
  }
  found_.clear();
  return out;
}

std::vector<std::string> grams_of(std::string_view word) {
  std::vector<std::string> found;
  each_gram(word, [&](std::uint32_t gram) { append_gram(gram, found.emplace_back()); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::size_t GramCounts::slot_of(std::string_view gram) {
  const auto digit = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(gram[i])); };
  return (digit(0) << 16U ^ digit(1) << 9U ^ digit(2)) % kSlots;
}

void GramCounts::add(std::string_view grams) {
  for (std::size_t at = 0; at + kBytes <= grams.size(); at += kBytes) {
    ++counts_[slot_of(grams.substr(at, kBytes))];
  }
}

std::string GramCounts::bytes() const {
  return {reinterpret_cast<const char*>(counts_.data()), counts_.size() * sizeof counts_[0]};
}

bool GramCounts::set(std::string_view bytes) {
  if (bytes.size() != counts_.size() * sizeof counts_[0]) {
    return false;
  }
  std::memcpy(counts_.data(), bytes.data(), bytes.size());
  return true;
}

}  // namespace arborfs::search
