#include "core/base/suggestion.h"

#include <algorithm>
#include <cstddef>

namespace arborfs {
namespace {

constexpr std::size_t kLongestWord = 64;

/// Optimal string alignment distance.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
      }
    }
  }
  return least[a.size()][b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  if (word.size() > kLongestWord) {
    return "";
  }
  std::size_t fewest = word.size() <= 3 ? 1 : 2;
  std::string found;
  for (const auto& candidate : candidates) {
    if (const std::size_t count = edits(word, candidate); count < fewest || (count == fewest && found.empty())) {
      fewest = count;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(const std::string& word) {
  return word.empty() ? "" : "; did you mean '" + word + "'?";
}

}  // namespace arborfs
