#include "core/base/number_format.h"

namespace arborfs {

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
