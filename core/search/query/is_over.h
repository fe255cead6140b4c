// When a search may end early, because nobody needs its result any more.
#pragma once

#include <functional>

#include "core/base/error.h"

namespace arborfs::search {

/// True once nobody needs the result any more. Cheap; any thread.
using IsOver = std::function<bool()>;

/// The error of a search that ended for that reason: interrupted.
inline Error search_is_over() {
  return {Errc::interrupted, "the search was cancelled"};
}

}  // namespace arborfs::search
