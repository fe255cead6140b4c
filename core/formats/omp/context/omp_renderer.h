// The renderer of omp's and pi's records. Thread-safe.
#pragma once

#include "core/render/record_renderer.h"

namespace arborfs {

const RecordRenderer& omp_renderer();

}  // namespace arborfs
