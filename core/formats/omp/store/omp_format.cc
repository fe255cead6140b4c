#include "core/formats/omp/store/omp_format.h"

#include "core/formats/omp/log/omp_reader.h"
#include "core/formats/omp/render/omp_renderer.h"
#include "core/formats/omp/store/omp_agent_look.h"

namespace arborfs {

const Format& omp_format() {
  static const Format format{"omp", "omp-jsonl", &omp_reader(), &omp_renderer(), true, true, &omp_agents()};
  return format;
}

const Format& pi_format() {
  static const Format format{"pi", "pi-jsonl", &omp_reader(), &omp_renderer(), true, true, &omp_agents()};
  return format;
}

}  // namespace arborfs
