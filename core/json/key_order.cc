#include "core/json/key_order.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <vector>

namespace arborfs::json {
namespace {

bool indices_lead(std::span<const std::string_view> keys) {
  std::int64_t last = -1;
  for (const std::string_view key : keys) {
    const auto index = array_index(key);
    if (index && *index < last) {
      return false;
    }
    last = index ? std::int64_t{*index} : std::numeric_limits<std::int64_t>::max();
  }
  return true;
}

bool all_differ(std::span<const std::string_view> keys) {
  constexpr std::size_t kFew = 16;
  if (keys.size() > kFew) {
    std::vector<std::string_view> sorted(keys.begin(), keys.end());
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  }
  for (std::size_t i = 1; i < keys.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (keys[i] == keys[k]) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<std::uint32_t> array_index(std::string_view key) {
  if (key.empty() || key.size() > 10 || key[0] < '0' || key[0] > '9' || (key[0] == '0' && key.size() > 1)) {
    return std::nullopt;
  }
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc() || end != key.data() + key.size() || index == std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return index;
}

bool keys_in_order(std::span<const std::string_view> keys) {
  return indices_lead(keys) && all_differ(keys);
}

}  // namespace arborfs::json
