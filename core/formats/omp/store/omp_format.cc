#include "core/formats/omp/store/omp_format.h"

#include "core/formats/omp/log/omp_reader.h"
#include "core/formats/omp/render/omp_renderer.h"
#include "core/formats/omp/store/omp_agent_look.h"
#include "core/store/resume.h"

namespace arborfs {

namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "label", "fork", "new", "title", "move", "remove"};
/// As omp/FORMAT.md G11 says.
constexpr ResumeCommand kResumeOmp{
    .program = "omp", .option = "--resume", .takes_path = true, .variable = "PI_CODING_AGENT_DIR"};
/// As pi/FORMAT.md D4 says.
constexpr ResumeCommand kResumePi{
    .program = "pi", .option = "--session", .takes_path = true, .variable = "PI_CODING_AGENT_DIR"};

}  // namespace

const Format& omp_format() {
  static const Format format{.agent = "omp",
                             .name = "omp-jsonl",
                             .reader = &omp_reader(),
                             .renderer = &omp_renderer(),
                             .verbs = kVerbs,
                             .is_plain = true,
                             .agents = &omp_agents(),
                             .resume = &kResumeOmp};
  return format;
}

const Format& pi_format() {
  static const Format format{.agent = "pi",
                             .name = "pi-jsonl",
                             .reader = &omp_reader(),
                             .renderer = &omp_renderer(),
                             .verbs = kVerbs,
                             .is_plain = true,
                             .agents = &omp_agents(),
                             .resume = &kResumePi};
  return format;
}

}  // namespace arborfs
