// The errors for writes that are in a store but were not synced. Any thread.
#pragma once

#include <string>

#include "core/base/error.h"

namespace arborfs {

/// It is never no_space or stale, which would make the caller write the same again.
inline Error written_but_not_synced(const Error& why) {
  return {Errc::io, why.message +
                        "; the log can be read, but the last write may not survive a power cut: check the end of the "
                        "log before you write again"};
}

/// The same for a new session. It stays, because a program may already have opened it.
inline Error made_but_not_synced(const Error& why, const std::string& session) {
  return {Errc::io, why.message + "; the new session " + session +
                        " is there, but may not survive a power cut: check that it exists before you create it again"};
}

}  // namespace arborfs
