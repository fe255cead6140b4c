// The facts about a log that the Writer needs before it writes to it. Any thread.
#pragma once

#include <string>

#include "core/formats/omp/log/dialect.h"
#include "core/session/session.h"

namespace arborfs {

struct WritableState {
  Dialect dialect = Dialect::omp13;
  bool has_slot = false;
  std::string title;
  std::string title_source;  // "" if unknown
};

/// The source of the title: "user", "auto", or "" if the header does not say.
std::string title_source_of(const Header& header);

/// Refreshes the session. Errors: those of refreshing, and of check_writable (log_rewrite.h).
Result<WritableState> writable_state_of(const SessionPtr& session);

}  // namespace arborfs
