// What the Writer must know of a log before anything is written to it. Any thread.
#pragma once

#include <string>

#include "core/session/session.h"

namespace arborfs {

struct KnownLog {
  Flavour flavour = Flavour::omp13;
  bool has_slot = false;
  std::string title;
  std::string title_source;  // "" when it is not known
};

/// Who gave the title: "user", "auto", or "" when the header does not say.
std::string title_source_of(const Header& header);

/// Refreshes the session. Errors: those of refreshing, and of check_writable (log_rewrite.h).
Result<KnownLog> know_log(const SessionPtr& session);

}  // namespace arborfs
