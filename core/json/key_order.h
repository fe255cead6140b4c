// The order in which JavaScript keeps the keys of an object (omp/FORMAT.md C23). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace arborfs::json {

/// The number that an integer-like key ("0" to "4294967294", canonical) stands for.
std::optional<std::uint32_t> array_index(std::string_view key);

/// True when no key occurs twice and the integer-like ones come first, ascending.
bool keys_in_order(std::span<const std::string_view> keys);

}  // namespace arborfs::json
