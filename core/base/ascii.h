// Letters of ASCII in another case. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace arborfs {

constexpr char in_lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Other bytes stay as they are.
inline std::string in_lower_case(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), [](char c) { return in_lower_case(c); });
  return lowered;
}

}  // namespace arborfs
