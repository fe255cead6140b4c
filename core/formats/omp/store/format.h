// The formats of omp and of pi. arborfs reads their logs in the same way, and one folder may have logs of both.
#pragma once

#include "core/store/format.h"

namespace arborfs::omp {

/// The logs of omp.
const Format& format();
/// The logs of pi, in a store that only pi uses: an agent dir that both may use counts as omp's.
const Format& pi_format();

}  // namespace arborfs::omp
