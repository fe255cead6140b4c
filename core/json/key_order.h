// JavaScript's order for the keys of an object (omp/FORMAT.md C23). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace arborfs::json {

/// The number of an integer-like key ("0" to "4294967294", canonical); nullopt for any other key.
std::optional<std::uint32_t> array_index(std::string_view key);

/// True if no key occurs twice and the integer-like ones come first, ascending.
bool keys_in_order(std::span<const std::string_view> keys);

}  // namespace arborfs::json
