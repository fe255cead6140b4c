// What is wrong with a session by its head alone. Any thread.
#pragma once

#include <string>

#include "core/session/session.h"

namespace arborfs {

/// Why the log cannot be read or has no valid header, in words; "" if neither is so. An empty log is a normal state: a
/// program has only made it.
std::string head_problem(const Session::Head& head);

}  // namespace arborfs
