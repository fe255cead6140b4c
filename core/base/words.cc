#include "core/base/words.h"

namespace arborfs {

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return text;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural) {
  std::string word(number == 1 || plural.empty() ? singular : plural);
  if (number != 1 && plural.empty()) {
    word += 's';
  }
  return grouped(number) + " " + word;
}

}  // namespace arborfs
