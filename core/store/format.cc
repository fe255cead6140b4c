#include "core/store/format.h"

#include "core/render/omp_renderer.h"

namespace arborfs {

const Format& omp_format() {
  static const Format format{"omp", "omp-jsonl", nullptr, &omp_renderer(), true};
  return format;
}

}  // namespace arborfs
