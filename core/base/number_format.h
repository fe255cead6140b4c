// Numbers formatted for people. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace arborfs {

/// "1,234,567".
std::string grouped(std::uint64_t number);
/// "1 entry", "2 entries". Without `plural`, appends an `s` to `singular`.
std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural = "");

}  // namespace arborfs
