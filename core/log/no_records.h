// The problem of a log in which no record has been written yet, as a program leaves it that was only started.
#pragma once

#include <string_view>

namespace arborfs {

/// Header::problem of a log without a record.
inline constexpr std::string_view kNoRecords = "the log has no records";

}  // namespace arborfs
