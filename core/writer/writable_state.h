// What the Writer must know of a log before anything is written to it. Any thread.
#pragma once

#include <string>

#include "core/session/session.h"

namespace arborfs {

struct WritableState {
  Dialect dialect = Dialect::omp13;
  bool has_slot = false;
  std::string title;
  std::string title_source;  // "" when it is not known
};

/// The origin of the title: "user", "auto", or "" when the header does not say.
std::string title_source_of(const Header& header);

/// Refreshes the session. Errors: those of refreshing, and of check_writable (log_rewrite.h).
Result<WritableState> writable_state_of(const SessionPtr& session);

}  // namespace arborfs
