// JSON numbers: their grammar and their value. Pure functions, any thread.
#pragma once

#include <string_view>

namespace arborfs::json {

/// Just behind the number that starts at `p`, or null when none does. Takes as much as belongs to it.
const char* skip_number(const char* p, const char* end);

/// The double nearest to a JSON number, as JavaScript reads it: infinity beyond the range, zero below it.
double number_value(std::string_view number);

}  // namespace arborfs::json
