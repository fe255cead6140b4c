// The error for a write that is in a log but was not synced. Any thread.
#pragma once

#include "core/base/error.h"

namespace arborfs {

/// It is never no_space or stale, which would make the caller write the same again.
inline Error written_but_not_synced(const Error& why) {
  return {Errc::io, why.message +
                        "; the log can be read, but the last write may not survive a power cut: check the end of the "
                        "log before you write again"};
}

}  // namespace arborfs
