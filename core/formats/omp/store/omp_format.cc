#include "core/formats/omp/store/omp_format.h"

#include "core/formats/omp/log/omp_reader.h"
#include "core/formats/omp/render/omp_renderer.h"
#include "core/formats/omp/store/omp_agent_look.h"

namespace arborfs {

namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "label", "fork", "new", "title", "move", "remove"};

}  // namespace

const Format& omp_format() {
  static const Format format{"omp", "omp-jsonl", &omp_reader(), &omp_renderer(), kVerbs, true, &omp_agents()};
  return format;
}

const Format& pi_format() {
  static const Format format{"pi", "pi-jsonl", &omp_reader(), &omp_renderer(), kVerbs, true, &omp_agents()};
  return format;
}

}  // namespace arborfs
