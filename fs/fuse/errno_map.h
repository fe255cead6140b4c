// The only place where an Errc becomes an errno.
#pragma once

#include "core/base/error.h"

namespace arborfs {

int errno_of(Errc code);

}  // namespace arborfs
