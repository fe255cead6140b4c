// JSON numbers: their grammar and their value. Pure functions, any thread.
#pragma once

#include <string_view>

namespace arborfs::json {

/// Returns a pointer just past the number that starts at `p`, or null if the text there is not a valid number. Consumes
/// every byte that can belong to the number.
const char* skip_number(const char* p, const char* end);

/// The double nearest to a JSON number, as JavaScript reads it: infinity on overflow, zero on underflow.
double number_value(std::string_view number);

}  // namespace arborfs::json
